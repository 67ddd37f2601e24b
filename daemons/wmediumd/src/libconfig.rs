// SPDX-License-Identifier: Apache-2.0
//! Files of libconfig (hyperrealm.github.io/libconfig), as far as wmediumd's use it: groups, lists,
//! arrays, numbers, strings, comments. No includes.

use std::collections::BTreeMap;

/// Groups and lists in one another, at most; deeper files are no one's.
const DEEPEST: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Number(f64),
    Bool(bool),
    Text(String),
    List(Vec<Value>),
    Group(Group),
}

pub type Group = BTreeMap<String, Value>;

impl Value {
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Bool(is) => Some(f64::from(u8::from(*is))),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn list(&self) -> Option<&[Value]> {
        match self {
            Self::List(values) => Some(values),
            _ => None,
        }
    }

    pub fn group(&self) -> Option<&Group> {
        match self {
            Self::Group(group) => Some(group),
            _ => None,
        }
    }

    /// A list of numbers.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.list()?.iter().map(Self::number).collect()
    }
}

/// What a file lacks, and where.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: expected {expected}, found {found:?}")]
pub struct SyntaxError {
    pub line: usize,
    pub expected: String,
    pub found: String,
}

/// The settings of a file; a mistake names its line.
pub fn parse(text: &str) -> Result<Group, SyntaxError> {
    let mut reader = Reader { rest: text, text };
    let group = reader.settings(0)?;
    reader.skip();
    if reader.rest.is_empty() {
        Ok(group)
    } else {
        Err(reader.wrong("a setting"))
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl Reader<'_> {
    fn wrong(&self, expected: impl Into<String>) -> SyntaxError {
        let line = self.text[..self.text.len() - self.rest.len()]
            .matches('\n')
            .count();
        SyntaxError {
            line: line + 1,
            expected: expected.into(),
            found: self.rest.chars().take(12).collect(),
        }
    }

    /// Over white space and comments.
    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            let end = if self.rest.starts_with('#') || self.rest.starts_with("//") {
                self.rest.find('\n')
            } else if self.rest.starts_with("/*") {
                self.rest.find("*/").map(|at| at + 2)
            } else {
                return;
            };
            self.rest = &self.rest[end.unwrap_or(self.rest.len())..];
        }
    }

    fn take(&mut self, sign: char) -> bool {
        self.skip();
        let after = self.rest.strip_prefix(sign);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> Option<&str> {
        self.skip();
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn settings(&mut self, depth: usize) -> Result<Group, SyntaxError> {
        let mut group = Group::new();
        while let Some(name) = self.word(|c| c.is_ascii_alphanumeric() || "_-*".contains(c)) {
            let name = name.to_owned();
            if !self.take('=') && !self.take(':') {
                return Err(self.wrong("= or :"));
            }
            let value = self.value(depth + 1)?;
            group.insert(name, value);
            let _ = self.take(';') || self.take(',');
        }
        Ok(group)
    }

    fn value(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        if depth > DEEPEST {
            return Err(self.wrong("less depth"));
        }
        if self.take('{') {
            let group = self.settings(depth)?;
            return match self.take('}') {
                true => Ok(Value::Group(group)),
                false => Err(self.wrong("}")),
            };
        }
        for (open, close) in [('(', ')'), ('[', ']')] {
            if self.take(open) {
                return self.list(close, depth);
            }
        }
        self.skip();
        if self.rest.starts_with('"') {
            return self.string();
        }
        self.scalar()
    }

    fn list(&mut self, close: char, depth: usize) -> Result<Value, SyntaxError> {
        let mut values = Vec::new();
        while !self.take(close) {
            values.push(self.value(depth + 1)?);
            if !self.take(',') {
                return match self.take(close) {
                    true => Ok(Value::List(values)),
                    false => Err(self.wrong(format!(", or {close}"))),
                };
            }
        }
        Ok(Value::List(values))
    }

    /// Strings one behind the other are one.
    fn string(&mut self) -> Result<Value, SyntaxError> {
        let mut text = String::new();
        while self.take('"') {
            let end = self.rest.find('"').ok_or_else(|| self.wrong("\""))?;
            text.push_str(&self.rest[..end]);
            self.rest = &self.rest[end + 1..];
            self.skip();
        }
        Ok(Value::Text(text))
    }

    fn scalar(&mut self) -> Result<Value, SyntaxError> {
        let before = self.rest;
        let word = self.word(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        let word = word.unwrap_or_default().to_ascii_lowercase();
        let value = match word.as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => number(&word).map(Value::Number),
        };
        value.ok_or_else(|| {
            self.rest = before;
            self.wrong("a value")
        })
    }
}

fn number(word: &str) -> Option<f64> {
    if let Some(digits) = word.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16).ok().map(f64::from);
    }
    let plain = word.trim_end_matches('l');
    let known = plain.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    plain
        .parse()
        .ok()
        .filter(|number: &f64| known && number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_as_mininet_wifi_writes_it() {
        let text = "ifaces:\n{\n\tids = [\n\t\t\"02:00:00:00:00:00\", \n\t\t\"02:00:00:00:01:00\"\n\t];\n\
            \tenable_interference = true;\n};\nmodel:\n{\n\ttype = \"path_loss\";\n\tpositions = (\n\
            \t\t(10.0, 10.0, 0.0),\n\t\t(50.0, -10.5, 0.0)\n\t);\n\tfading_coefficient = 0;\n\
            \tnoise_threshold = -91;\n\tisnodeaps = (0, 1);\n\ttx_powers = (14, 14);\n\
            \tmodel_name = \"log_distance\";\n\tpath_loss_exp = 4.0;\n\txg = 0.0;\n};";
        let file = parse(text).expect("a file");
        let model = file["model"].group().expect("a group");
        assert_eq!(model["type"].text(), Some("path_loss"));
        assert_eq!(model["noise_threshold"].number(), Some(-91.0));
        let positions = model["positions"].list().expect("a list");
        assert_eq!(positions[1].numbers(), Some(vec![50.0, -10.5, 0.0]));
        let ifaces = file["ifaces"].group().expect("a group");
        assert_eq!(ifaces["enable_interference"], Value::Bool(true));
        assert_eq!(ifaces["ids"].list().map(<[_]>::len), Some(2));
    }

    #[test]
    fn comments_hexadecimal_and_joined_strings() {
        let file =
            parse("# a\na = 0x10, /* b */ b : \"x\" \"y\"; // c\nc = ((1, 2), ()) d = [1L,]");
        let file = file.expect("a file");
        assert_eq!(file["a"], Value::Number(16.0));
        assert_eq!(file["b"].text(), Some("xy"));
        assert_eq!(file["c"].list().map(<[_]>::len), Some(2));
        assert_eq!(file["d"].numbers(), Some(vec![1.0]));
    }

    #[test]
    fn a_mistake_names_its_line() {
        for (text, told) in [
            ("a = 1;\nb 2", "line 2: expected = or :, found \"2\""),
            ("a = (1, 2", "line 1: expected , or ), found \"\""),
            (
                "a = {\nb = nan; }",
                "line 2: expected a value, found \"nan; }\"",
            ),
            ("a = \"x", "line 1: expected \", found \"x\""),
            ("}", "line 1: expected a setting, found \"}\""),
        ] {
            assert_eq!(parse(text).expect_err(text).to_string(), told);
        }
        let deep = "a = ".to_owned() + &"(".repeat(100);
        assert_eq!(parse(&deep).expect_err("deep").expected, "less depth");
    }
}
