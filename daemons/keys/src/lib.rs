// SPDX-License-Identifier: Apache-2.0
//! The keys of scenarios and of the daemons' files: name, type, range, default, unit and sentence.
//!
//! They are declared in Python (`hoplab/model/scenario`), which writes them as a JSON Schema. It is
//! compiled in here: a daemon's file is checked by it, completed with its defaults, and explained
//! from it in `--help`. What a key does is the daemon's own affair.
//!
//! ```
//! let table = hoplab_keys::table("Nic");
//! let text = "tx_ring = 4";
//! let mut keys = table.read(text).map_err(|m| m.told(text))?;
//! table.complete(&mut keys).map_err(|m| m.told(text))?;
//! assert_eq!(keys["tx_ring"], 4);
//! assert_eq!(keys["rx_service_mbps"], 0.0);
//! # Ok::<(), String>(())
//! ```

mod help;
mod mistake;
mod read;

use std::sync::LazyLock;

use serde_json::{Map, Value};

pub use mistake::{nearest, Mistake, Step};

/// The values of a table's keys.
pub type Keys = Map<String, Value>;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../../hoplab/model/scenario/scenario.schema.json");
    serde_json::from_str(text).expect("the schema is JSON, by a test")
});

/// A declared table, such as `MediumFile`, `Radio` or `DsrSettings`.
#[derive(Clone, Copy, Debug)]
pub struct Table(&'static Value);

/// The table of that name.
///
/// # Panics
/// Where the schema has none: the names are the daemons' own words.
pub fn table(name: &str) -> Table {
    Table(&SCHEMA["$defs"][name]).known(name)
}

impl Table {
    fn known(self, name: &str) -> Self {
        assert!(self.0.is_object(), "the schema has no table {name}");
        self
    }

    /// Each key with its declaration, in the order of the manual.
    fn keys(self) -> impl Iterator<Item = (&'static String, &'static Value)> {
        self.0["properties"].as_object().into_iter().flatten()
    }

    fn declared(self, key: &str) -> Option<&'static Value> {
        self.0["properties"].get(key)
    }

    fn must_have(self, key: &str) -> bool {
        let required = self.0["required"].as_array();
        required.is_some_and(|names| names.iter().any(|name| name == key))
    }

    /// The names of the keys.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.keys().map(|(name, _)| name.as_str())
    }

    /// The words that `key` may be.
    pub fn words(self, key: &str) -> Vec<&'static str> {
        let declared = self.declared(key).and_then(|d| d["enum"].as_array());
        declared
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// Add the defaults of what `keys` leaves open; refuse keys that don't count with the others'
    /// values, and miss those that must be given.
    pub fn complete(self, keys: &mut Keys) -> Result<(), Mistake> {
        for (name, declared) in self.keys() {
            if let Some(default) = declared.get("default") {
                if !keys.contains_key(name) && self.counts(name, keys).is_ok() {
                    keys.insert(name.clone(), default.clone());
                }
            }
        }
        for (name, declared) in self.keys() {
            match keys.get_mut(name) {
                None if self.must_have(name) => return Err(Mistake::at(name, "missing")),
                None => {}
                Some(value) => {
                    complete_inside(declared, value).map_err(|m| m.below(name))?;
                    self.counts(name, keys)
                        .map_err(|why| Mistake::at(name, why))?;
                }
            }
        }
        Ok(())
    }

    /// Whether the key `name` has a meaning beside the other keys' values.
    pub fn counts(self, name: &str, keys: &Keys) -> Result<(), String> {
        let Some(only) = self.declared(name).and_then(|d| d.get("only")) else {
            return Ok(());
        };
        let other = only["key"].as_str().unwrap_or_default();
        let default = self.declared(other).and_then(|d| d.get("default"));
        let Some(chosen) = keys.get(other).or(default) else {
            return Ok(());
        };
        let values = only["values"].as_array().map_or(&[][..], Vec::as_slice);
        if values.contains(chosen) {
            return Ok(());
        }
        let allowed: Vec<String> = values.iter().map(Value::to_string).collect();
        Err(format!(
            "counts only where {other} is {}; here it is {chosen}; remove one",
            allowed.join(" or ")
        ))
    }
}

/// Tables below a key, and each of a list.
fn complete_inside(declared: &'static Value, value: &mut Value) -> Result<(), Mistake> {
    let declared = followed(declared);
    match value {
        Value::Object(keys) if declared.get("properties").is_some() => {
            Table(declared).complete(keys)
        }
        Value::Array(entries) => {
            let Some(entry) = declared.get("items") else {
                return Ok(());
            };
            for (i, value) in entries.iter_mut().enumerate() {
                complete_inside(entry, value).map_err(|m| m.in_entry(i))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The declaration itself, where another one refers to it.
fn followed(declared: &'static Value) -> &'static Value {
    match declared.get("$ref").and_then(Value::as_str) {
        Some(reference) => table(reference.trim_start_matches("#/$defs/")).0,
        None => declared,
    }
}
