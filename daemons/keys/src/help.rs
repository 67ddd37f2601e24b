// SPDX-License-Identifier: Apache-2.0
//! What `--help` says of keys.

use serde_json::Value;

use crate::read::{plain, range_of};
use crate::{followed, Table};

const WIDTH: usize = 100;
const COLUMN: usize = 29;

impl Table {
    /// A paragraph for each key, `indent` columns in: name, sentence, what is allowed, default.
    /// Keys that are tables or lists of tables are left to the caller.
    pub fn help(self, indent: usize) -> String {
        let mut text = String::new();
        for (name, declared) in self.keys() {
            let entry = declared.get("items").unwrap_or(declared);
            if followed(declared).get("properties").is_some() || entry.get("$ref").is_some() {
                continue;
            }
            paragraph(&mut text, indent, name, &explanation(self, name, declared));
        }
        text
    }
}

fn explanation(table: Table, name: &str, declared: &Value) -> String {
    let mut parts = vec![declared["description"]
        .as_str()
        .unwrap_or_default()
        .to_string()];
    let allowed = match declared.get("enum").and_then(Value::as_array) {
        Some(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        None if declared["type"] == "integer" || declared["type"] == "number" => range_of(declared),
        None => String::new(),
    };
    let unit = declared["unit"].as_str().unwrap_or_default();
    let allowed = format!("{allowed} {unit}").trim().to_string();
    if !allowed.is_empty() {
        parts.push(allowed);
    }
    if let Some(only) = declared.get("only") {
        let values = only["values"].as_array().map_or(&[][..], Vec::as_slice);
        let values: Vec<String> = values.iter().map(plain).collect();
        parts.push(format!(
            "with {} {}",
            plain(&only["key"]),
            values.join(" or ")
        ));
    }
    match declared.get("default") {
        Some(Value::Array(_)) => {}
        Some(default) => parts.push(format!("default {}", plain(default))),
        None if table.must_have(name) => parts.push("must be given".into()),
        None => {}
    }
    parts.join("; ")
}

/// `name` in its column, the words beside it.
fn paragraph(text: &mut String, indent: usize, name: &str, words: &str) {
    let mut line = format!("{:indent$}{name}", "");
    let mut empty = true;
    for word in words.split_whitespace() {
        if empty {
            let pad = COLUMN.saturating_sub(line.chars().count()).max(1);
            line.push_str(&" ".repeat(pad));
        } else if line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = " ".repeat(COLUMN);
        } else {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    text.push_str(&line);
    text.push('\n');
}
