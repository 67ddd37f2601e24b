// SPDX-License-Identifier: Apache-2.0
//! The file of connections, TOML: tables `[[connection]]` with the keys of `SplitConnection`
//! (`hoplab/model/scenario/split.py`).

use hoplab_keys::{table, Keys};
use hoplab_split_core::{Config, Ends};
use serde_json::Value;
use std::path::Path;

/// The declaration of the file.
const FILE: &str = "SplitFile";
const NAME: &str = "name";

/// Every connection that is split, and what the tables call it.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    pub config: Config,
    names: Vec<Option<String>>,
}

impl Connections {
    /// Reads the file. The error is one line.
    pub fn read(path: &Path) -> Result<Self, String> {
        let fail = |why: String| format!("connections {}: {why}", path.display());
        let text = std::fs::read_to_string(path).map_err(|e| fail(e.to_string()))?;
        Self::parse(&text).map_err(fail)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file = table(FILE);
        let told = |mistake: hoplab_keys::Mistake| mistake.told(text);
        let mut keys = file.read(text).map_err(told)?;
        file.complete(&mut keys).map_err(told)?;
        let names = names(&mut keys);
        // What the declaration accepts has the types of `Config`, but for numbers in an address.
        let config = serde_json::from_value(Value::Object(keys)).map_err(|e| e.to_string())?;
        Ok(Connections { config, names })
    }

    /// What the tables call the connection: its name, or its ends.
    pub fn name(&self, ends: &Ends) -> String {
        let mut all = self.config.connection.iter().zip(&self.names);
        match all.find(|(connection, _)| connection.fits(ends)) {
            Some((_, Some(name))) => name.clone(),
            _ => ends.to_string(),
        }
    }
}

/// Takes the names out: the core knows none.
fn names(keys: &mut Keys) -> Vec<Option<String>> {
    let connections = keys.get_mut("connection").and_then(Value::as_array_mut);
    let name = |connection: &mut Value| {
        let name = connection.as_object_mut()?.remove(NAME)?;
        name.as_str().map(Into::into)
    };
    connections.into_iter().flatten().map(name).collect()
}

/// How the file is written, for `--help`.
pub fn help() -> String {
    table("SplitConnection").help(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: Ends = Ends {
        source: std::net::Ipv4Addr::new(10, 0, 0, 1),
        source_port: 20_001,
        destination: std::net::Ipv4Addr::new(10, 0, 0, 9),
        destination_port: 5201,
    };

    #[test]
    fn a_connection_is_found_and_named() {
        let text = "[[connection]]\nsource_port = 4\n\
                    [[connection]]\nname = \"flow0\"\nsource = \"10.0.0.1\"\nsource_port = 20001\n\
                    proxies = [\"10.0.0.4\"]\nbuffer_packets = 5\n\
                    [[connection]]\ndestination = \"10.0.0.9\"\n";
        let read = Connections::parse(text).unwrap();
        let found = read.config.of(&ENDS).unwrap();
        assert_eq!(found.buffer_packets, 5);
        assert_eq!(found.window, 64);
        assert_eq!(found.proxies, [std::net::Ipv4Addr::new(10, 0, 0, 4)]);
        assert_eq!(read.name(&ENDS), "flow0");
        let other = Ends {
            source_port: 4,
            ..ENDS
        };
        assert_eq!(read.name(&other), other.to_string());
        assert_eq!(read.config.connection.len(), 3);
    }

    #[test]
    fn mistakes_are_told_in_a_line() {
        for (text, word) in [
            ("", "connection"),
            ("[[connection]]\nproxy = 1\n", "proxy"),
            ("[[connection]]\nevery_hops = 64\n", "every_hops"),
            ("[[connection]]\nsource = \"10.0.0.256\"\n", "address"),
            ("[[connection]]\nbuffer_packets = 0\n", "buffer_packets"),
            ("connection = 3\n", "connection"),
        ] {
            let told = Connections::parse(text).unwrap_err();
            assert!(told.contains(word) && !told.contains('\n'), "{told}");
        }
    }
}
