// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From the schema of records to one module a table, with its row as a struct.

use serde::Deserialize;
use std::fmt::Write;
use std::path::Path;

const SCHEMA: &str = "../../hoplab/model/records/schema.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Schema {
    table: Vec<Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    name: String,
    rows: String,
    timed: bool,
    #[serde(default, rename = "time")]
    _time: Option<String>,
    #[serde(rename = "keys")]
    _keys: Vec<String>,
    columns: Vec<Column>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    name: String,
    #[serde(rename = "type")]
    kind: Kind,
    unit: Option<String>,
    #[serde(default)]
    values: Vec<String>,
    null: Option<String>,
    #[serde(default, rename = "later")]
    _later: bool,
    meaning: String,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    String,
    Integer,
    Float,
}

impl Kind {
    fn rust(self) -> &'static str {
        match self {
            Kind::String => "&'a str",
            Kind::Integer => "crate::Integer",
            Kind::Float => "f64",
        }
    }
}

fn main() {
    println!("cargo:rerun-if-changed={SCHEMA}");
    println!("cargo:rerun-if-changed=build.rs");
    let text = std::fs::read_to_string(SCHEMA).unwrap_or_else(|e| panic!("{SCHEMA}: {e}"));
    let schema: Schema = toml::from_str(&text).unwrap_or_else(|e| panic!("{SCHEMA}: {e}"));
    let mut code = String::new();
    for table in &schema.table {
        module(&mut code, table).expect("a string takes whatever is written");
    }
    let folder = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let path = Path::new(&folder).join("tables.rs");
    std::fs::write(&path, code).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

fn module(code: &mut String, table: &Table) -> std::fmt::Result {
    let (name, rows, timed) = (&table.name, &table.rows, table.timed);
    // A row without a string borrows nothing; no table is without one.
    assert!(
        table
            .columns
            .iter()
            .any(|column| column.kind == Kind::String),
        "{name}: a table without a string column"
    );
    writeln!(code, "/// {rows}\npub mod {name} {{")?;
    writeln!(code, "    /// The table `{name}`.\n    pub struct Table;\n")?;
    writeln!(code, "    impl crate::Table for Table {{")?;
    writeln!(code, "        const NAME: &'static str = {name:?};")?;
    writeln!(code, "        const TIMED: bool = {timed};")?;
    writeln!(code, "        type Row<'a> = Row<'a>;\n    }}\n")?;
    writeln!(code, "    /// {rows}")?;
    writeln!(
        code,
        "    #[derive(Clone, Debug, PartialEq, serde::Serialize)]"
    )?;
    writeln!(code, "    pub struct Row<'a> {{")?;
    for column in &table.columns {
        field(code, column)?;
    }
    writeln!(code, "    }}\n\n    impl crate::Row for Row<'_> {{")?;
    writeln!(
        code,
        "        fn check(&self) -> Result<(), crate::Wrong> {{"
    )?;
    for column in &table.columns {
        check(code, column)?;
    }
    writeln!(code, "            Ok(())\n        }}\n    }}\n}}\n")
}

fn field(code: &mut String, column: &Column) -> std::fmt::Result {
    let (name, meaning) = (&column.name, &column.meaning);
    writeln!(code, "        /// {meaning}")?;
    if let Some(unit) = &column.unit {
        writeln!(code, "        ///\n        /// Unit: {unit}.")?;
    }
    let kind = column.kind.rust();
    match &column.null {
        Some(when) => {
            writeln!(code, "        ///\n        /// `None` {when}.")?;
            writeln!(code, "        pub {name}: Option<{kind}>,")
        }
        None => writeln!(code, "        pub {name}: {kind},"),
    }
}

/// What the types do not say: floats are numbers, and strings of a closed set are of it.
fn check(code: &mut String, column: &Column) -> std::fmt::Result {
    let name = &column.name;
    let value = match column.null {
        Some(_) => format!("self.{name}"),
        None => format!("Some(self.{name})"),
    };
    match column.kind {
        Kind::Float => writeln!(
            code,
            "            crate::check::number({name:?}, {value})?;"
        ),
        Kind::String if !column.values.is_empty() => {
            let values = &column.values;
            writeln!(
                code,
                "            crate::check::one_of({name:?}, {value}, &{values:?})?;"
            )
        }
        _ => Ok(()),
    }
}
