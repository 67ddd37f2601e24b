// SPDX-License-Identifier: Apache-2.0
//! TOML checked against the declarations, value by value.

use serde_json::{json, Value};
use toml_edit::{ImDocument, Item, TableLike, Value as Toml};

use crate::{followed, mistake::nearest, Keys, Mistake, Table};

const LONGEST_SHOWN: usize = 60;

impl Table {
    /// The keys of `text`, each of the declared type and in its range; without defaults.
    pub fn read(self, text: &str) -> Result<Keys, Mistake> {
        self.read_table(parse(text)?.as_table())
    }

    /// The same of the table `key` of `text`; nothing where there is none.
    pub fn read_below(self, text: &str, key: &str) -> Result<Keys, Mistake> {
        match parse(text)?.get(key) {
            None => Ok(Keys::new()),
            Some(item) => match item.as_table_like() {
                Some(table) => self.read_table(table).map_err(|m| m.below(key)),
                None => Err(Mistake::at(key, "is not a table")),
            },
        }
    }

    fn read_table(self, given: &dyn TableLike) -> Result<Keys, Mistake> {
        let mut keys = Keys::new();
        for (name, item) in given.iter() {
            let Some(declared) = self.declared(name) else {
                let known = self.keys().map(|(key, _)| key.as_str());
                let hint = nearest(name, known).map(|key| format!("; did you mean {key}?"));
                let all: Vec<&str> = self.keys().map(|(key, _)| key.as_str()).collect();
                let message = format!(
                    "unknown key{}; one of {}",
                    hint.unwrap_or_default(),
                    all.join(", ")
                );
                return Err(Mistake::at(name, message));
            };
            let value = read_item(declared, item).map_err(|m| m.below(name))?;
            keys.insert(name.into(), value);
        }
        Ok(keys)
    }
}

fn parse(text: &str) -> Result<ImDocument<&str>, Mistake> {
    ImDocument::parse(text).map_err(|error| {
        let why = error.message().trim().replace('\n', "; ");
        let mut mistake = Mistake::here(match why.as_str() {
            "" => "not valid TOML".into(),
            why => format!("not valid TOML: {why}"),
        });
        mistake.offset = error.span().map(|span| span.start);
        mistake
    })
}

fn read_item(declared: &'static Value, item: &Item) -> Result<Value, Mistake> {
    let declared = followed(declared);
    match item {
        Item::Value(value) => read_value(declared, value),
        Item::Table(table) => read_inside(declared, table),
        Item::ArrayOfTables(tables) => {
            let entry = entries_of(declared, tables.len())?;
            let each = tables.iter().enumerate().map(|(i, table)| {
                read_inside(followed(entry(i)), table).map_err(|m| m.in_entry(i))
            });
            Ok(Value::Array(each.collect::<Result<_, _>>()?))
        }
        Item::None => Err(Mistake::here("nothing")),
    }
}

fn read_inside(declared: &'static Value, given: &dyn TableLike) -> Result<Value, Mistake> {
    if declared.get("properties").is_none() {
        return Err(Mistake::here(format!(
            "a table, where {} belongs",
            kind_of(declared)
        )));
    }
    Table(declared).read_table(given).map(Value::Object)
}

/// The declaration of each entry of a list of `count`.
fn entries_of(
    declared: &'static Value,
    count: usize,
) -> Result<impl Fn(usize) -> &'static Value, Mistake> {
    if declared["type"] != "array" {
        return Err(Mistake::here(format!(
            "a list, where {} belongs",
            kind_of(declared)
        )));
    }
    let bound = |word: &str| declared.get(word).and_then(Value::as_u64);
    let least = bound("minItems").unwrap_or(0);
    let most = bound("maxItems").unwrap_or(u64::MAX);
    if !(least..=most).contains(&(count as u64)) {
        let allowed = match (least, most) {
            (least, most) if least == most => format!("{least}"),
            (0, most) => format!("at most {most}"),
            (least, most) => format!("{least} to {most}"),
        };
        return Err(Mistake::here(format!(
            "{count} entries; {allowed} is allowed"
        )));
    }
    let places = declared.get("prefixItems").and_then(Value::as_array);
    Ok(move |i: usize| match places {
        Some(places) => &places[i.min(places.len() - 1)],
        None => &declared["items"],
    })
}

fn read_value(declared: &'static Value, value: &Toml) -> Result<Value, Mistake> {
    let found = match value {
        Toml::InlineTable(table) => return read_inside(declared, table),
        Toml::Array(array) => {
            let entry = entries_of(declared, array.len())?;
            let each = array
                .iter()
                .enumerate()
                .map(|(i, value)| read_value(followed(entry(i)), value).map_err(|m| m.in_entry(i)));
            return Ok(Value::Array(each.collect::<Result<_, _>>()?));
        }
        Toml::String(text) => json!(text.value()),
        Toml::Integer(number) => json!(*number.value()),
        Toml::Float(number) => json!(*number.value()),
        Toml::Boolean(switch) => json!(*switch.value()),
        Toml::Datetime(_) => Value::Null,
    };
    let shown = shown(value);
    if let Some(allowed) = declared.get("enum").and_then(Value::as_array) {
        return match allowed.iter().find(|entry| same(entry, &found)) {
            // As it is declared: 2 may be written 2.0.
            Some(entry) => Ok(entry.clone()),
            None => {
                let words: Vec<String> = allowed.iter().map(plain).collect();
                let message = format!("{shown} is not allowed; one of {}", words.join(", "));
                Err(Mistake::here(message))
            }
        };
    }
    let fits = match declared["type"].as_str() {
        Some("integer") => found.is_i64() || found.is_u64(),
        Some("number") => found.is_number(),
        Some("string") => found.is_string(),
        Some("boolean") => found.is_boolean(),
        _ => false,
    };
    if !fits {
        return Err(Mistake::here(format!(
            "{shown} is not {}",
            kind_of(declared)
        )));
    }
    if let Some(text) = found.as_str() {
        let bound = |word: &str| declared.get(word).and_then(Value::as_u64);
        let length = text.chars().count() as u64;
        let allowed = bound("minLength").unwrap_or(0)..=bound("maxLength").unwrap_or(u64::MAX);
        if !allowed.contains(&length) {
            return Err(Mistake::here(format!("{shown} is too short or too long")));
        }
    }
    match found.as_f64() {
        Some(number) if !within(declared, number) => {
            let range = range_of(declared);
            Err(Mistake::here(format!(
                "{shown} is out of range; {range} is allowed"
            )))
        }
        _ => Ok(found),
    }
}

fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

fn within(declared: &Value, number: f64) -> bool {
    let bound = |word: &str| declared.get(word).and_then(Value::as_f64);
    number.is_finite()
        && bound("minimum").is_none_or(|least| number >= least)
        && bound("maximum").is_none_or(|most| number <= most)
        && bound("exclusiveMinimum").is_none_or(|least| number > least)
}

/// The range of a number in words; nothing where it has none.
pub fn range_of(declared: &Value) -> String {
    let bound = |word: &str| declared.get(word).map(plain);
    let (least, most) = (bound("minimum"), bound("maximum"));
    match (bound("exclusiveMinimum"), least, most) {
        (Some(above), _, Some(most)) => format!("above {above}, to {most}"),
        (Some(above), _, None) => format!("above {above}"),
        (None, Some(least), Some(most)) => format!("{least} to {most}"),
        (None, Some(least), None) => format!("{least} and above"),
        (None, None, Some(most)) => format!("up to {most}"),
        (None, None, None) => "any finite number".into(),
    }
}

/// A word without its quotes, a whole number without its fraction.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map(|n| n.to_string()).unwrap_or_default()
        }
        other => other.to_string(),
    }
}

fn kind_of(declared: &Value) -> &'static str {
    match declared["type"].as_str() {
        Some("integer") => "a whole number",
        Some("number") => "a number",
        Some("string") => "a string",
        Some("boolean") => "true or false",
        Some("array") => "a list",
        Some("object") => "a table",
        _ => "a value of those allowed",
    }
}

/// The value as it is written, if that is not too long.
fn shown(value: &Toml) -> String {
    let text = match value {
        Toml::String(text) => format!("{:?}", text.value()),
        Toml::Float(number) => number.value().to_string(),
        Toml::Integer(number) => number.value().to_string(),
        other => other.to_string().trim().to_string(),
    };
    match text.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;
    use std::collections::BTreeSet;

    /// What a declaration may say and is heeded here, or need not be: `pattern`s of names and MACs
    /// are looked at by who uses them.
    const KNOWN: [&str; 22] = [
        "$ref",
        "additionalProperties",
        "default",
        "description",
        "enum",
        "exclusiveMinimum",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "only",
        "pattern",
        "prefixItems",
        "properties",
        "required",
        "title",
        "type",
        "unit",
        "const",
    ];

    fn words(declared: &'static Value, found: &mut BTreeSet<&'static str>) {
        let declared = followed(declared);
        for (word, value) in declared.as_object().into_iter().flatten() {
            found.insert(word);
            match (word.as_str(), value) {
                ("properties", Value::Object(keys)) => keys.values().for_each(|v| words(v, found)),
                ("items", value) => words(value, found),
                ("prefixItems", Value::Array(each)) => each.iter().for_each(|v| words(v, found)),
                _ => {}
            }
        }
    }

    #[test]
    fn no_word_of_the_schema_is_overlooked() {
        let mut found = BTreeSet::new();
        words(table("MediumFile").0, &mut found);
        words(table("DsrSettings").0, &mut found);
        let unknown: Vec<_> = found.iter().filter(|word| !KNOWN.contains(word)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
