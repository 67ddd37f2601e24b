// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files of `impl Radio` stand in levels: each calls only itself and files below it.

use std::fs;
use std::path::Path;

/// The lowest first. `mod.rs` has the entry points that concern the whole radio.
const LEVELS: [&str; 9] = [
    "ahead", "state", "hear", "contend", "queue", "txop", "send", "receive", "mod",
];

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

#[test]
fn calls_lead_downwards() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/radio");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), LEVELS.len());
    let read = |name| fs::read_to_string(folder.join(format!("{name}.rs"))).unwrap();
    let texts = LEVELS.map(read);
    for (level, text) in texts.iter().enumerate() {
        let calls = joined(text);
        for (above, other) in texts.iter().enumerate().skip(level + 1) {
            let called = |name: &&str| names(&calls, "self.").any(|call| call == *name);
            let wrong: Vec<_> = names(other, "    pub(super) fn ")
                .chain(names(other, "    pub fn "))
                .chain(names(other, "    fn "))
                .filter(called)
                .collect();
            let (here, there) = (LEVELS[level], LEVELS[above]);
            assert!(wrong.is_empty(), "{here}.rs calls {wrong:?} of {there}.rs");
        }
    }
}
