// SPDX-License-Identifier: Apache-2.0
//! A mistake, told in one line: line of the file, key, value, what is allowed.

use toml_edit::{ImDocument, Item};

/// A key, or a number of an entry of a list.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Key(String),
    Entry(usize),
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Mistake {
    pub path: Vec<Step>,
    pub message: String,
    /// Where TOML itself is broken, that place.
    pub offset: Option<usize>,
}

impl Mistake {
    /// Of the key `key`.
    pub fn at(key: &str, message: impl Into<String>) -> Self {
        Self::here(message).below(key)
    }

    pub(crate) fn here(message: impl Into<String>) -> Self {
        Self {
            path: Vec::new(),
            message: message.into(),
            offset: None,
        }
    }

    /// The same inside the table `key`.
    #[must_use]
    pub fn below(mut self, key: &str) -> Self {
        self.path.insert(0, Step::Key(key.into()));
        self
    }

    /// The same inside entry `index` of a list.
    #[must_use]
    pub fn in_entry(mut self, index: usize) -> Self {
        self.path.insert(0, Step::Entry(index));
        self
    }

    /// The line about the file `text`.
    pub fn told(&self, text: &str) -> String {
        let keys: Vec<&str> = self.path.iter().filter_map(Step::key).collect();
        let place = match keys.join(".") {
            none if none.is_empty() => String::new(),
            key => format!("{key}: "),
        };
        let offset = self.offset.or_else(|| self.offset_in(text));
        match offset.and_then(|offset| text.get(..offset)) {
            Some(before) => {
                let line = before.matches('\n').count() + 1;
                format!("line {line}: {place}{}", self.message)
            }
            None => format!("{place}{}", self.message),
        }
    }

    /// Where the key is; its table where it is not written out.
    fn offset_in(&self, text: &str) -> Option<usize> {
        let document = ImDocument::parse(text).ok()?;
        let mut item: &Item = document.as_item();
        let mut place = None;
        for step in &self.path {
            let found = match step {
                Step::Key(key) => item.get(key.as_str()),
                Step::Entry(index) => item.get(*index),
            };
            let Some(found) = found else { break };
            item = found;
            place = item.span().or(place);
        }
        place.map(|span| span.start)
    }
}

impl Step {
    fn key(&self) -> Option<&str> {
        match self {
            Step::Key(key) => Some(key),
            Step::Entry(_) => None,
        }
    }
}

/// The one of `words` that `word` is most like, if it is like one.
pub fn nearest<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const ALIKE: f64 = 0.75;
    words
        .map(|known| (strsim::jaro_winkler(word, known), known))
        .filter(|(likeness, _)| *likeness > ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}
