// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files of one type stand in levels: each calls only itself and files below it.

use std::fs;
use std::path::Path;

/// Calls over several lines in one.
fn joined(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace(" .", ".")
}

/// The names of functions that follow `before` in `text`.
fn names<'a>(text: &'a str, before: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(before).skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        rest[end..].starts_with('(').then_some(&rest[..end])
    })
}

/// Asserts that the files of `folder` are `levels`, the lowest first, and that calls lead downwards.
pub fn hold(folder: &Path, levels: &[&str]) {
    assert_eq!(fs::read_dir(folder).unwrap().count(), levels.len());
    let read = |name| fs::read_to_string(folder.join(format!("{name}.rs"))).unwrap();
    let texts: Vec<_> = levels.iter().map(read).collect();
    for (level, text) in texts.iter().enumerate() {
        let calls = joined(text);
        for (above, other) in texts.iter().enumerate().skip(level + 1) {
            let called = |name: &&str| names(&calls, "self.").any(|call| call == *name);
            let wrong: Vec<_> = names(other, "    pub(super) fn ")
                .chain(names(other, "    pub fn "))
                .chain(names(other, "    fn "))
                .filter(called)
                .collect();
            let (here, there) = (levels[level], levels[above]);
            assert!(wrong.is_empty(), "{here}.rs calls {wrong:?} of {there}.rs");
        }
    }
}
