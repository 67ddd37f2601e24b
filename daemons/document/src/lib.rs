// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads the document that a daemon is given: JSON with final values.
//!
//! `hoplab` resolves and checks a scenario in Python and writes one document for each daemon. It
//! holds dBm, octets, Hz and ns, and words for enums. A daemon only deserialises it, so a document
//! type derives `Deserialize` with `deny_unknown_fields` and has no defaults and no cross checks.
//!
//! ```
//! #[derive(Debug, serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Example {
//!     slot_ns: u64,
//! }
//! hoplab_document::document!(Example);
//! let example: Example = r#"{"slot_ns": 20000}"#.parse()?;
//! assert_eq!(example.slot_ns, 20_000);
//! let error = "{\n\"slot_ns\": -1}".parse::<Example>().unwrap_err();
//! assert!(error.to_string().starts_with("line 2: slot_ns: "));
//! # Ok::<(), hoplab_document::DocumentError>(())
//! ```

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::DeserializeOwned;

/// The longest document that is read. A scenario at its limits gives some 20 MB.
pub const LARGEST_OCTETS: u64 = 64 << 20;

/// Why a document cannot be used.
#[derive(Debug)]
pub enum DocumentError {
    /// The file cannot be read, or is no regular file.
    Unreadable { path: PathBuf, why: io::Error },
    /// The file is longer than [`LARGEST_OCTETS`].
    TooLong { path: PathBuf },
    /// A key is missing, unknown or has a value that it cannot have.
    Invalid {
        /// Empty for a document that was not read from a file.
        path: PathBuf,
        line: usize,
        /// The key with its tables, as `radio.slot_ns`; `.` is the whole document.
        key: String,
        why: String,
    },
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DocumentError::Unreadable { path, why } => write!(f, "{}: {why}", path.display()),
            DocumentError::TooLong { path } => write!(
                f,
                "{}: expected a file of at most {LARGEST_OCTETS} octets",
                path.display()
            ),
            DocumentError::Invalid {
                path,
                line,
                key,
                why,
            } => {
                if !path.as_os_str().is_empty() {
                    write!(f, "{}: ", path.display())?;
                }
                write!(f, "line {line}: {key}: {why}")
            }
        }
    }
}

impl std::error::Error for DocumentError {}

/// Reads the document at `path`.
pub fn read<T: FromStr<Err = DocumentError>>(path: &Path) -> Result<T, DocumentError> {
    parse_of(path, &text(path)?)
}

/// The document at `path`, unread.
pub fn text(path: &Path) -> Result<String, DocumentError> {
    let unreadable = |why| DocumentError::Unreadable {
        path: path.into(),
        why,
    };
    let file = hoplab_records::file::read(path).map_err(unreadable)?;
    let mut text = String::new();
    let read = file.take(LARGEST_OCTETS + 1).read_to_string(&mut text);
    if read.map_err(unreadable)? as u64 > LARGEST_OCTETS {
        return Err(DocumentError::TooLong { path: path.into() });
    }
    Ok(text)
}

/// Reads `text`, the document of `path`, which an error names.
pub fn parse_of<T>(path: &Path, text: &str) -> Result<T, DocumentError>
where
    T: FromStr<Err = DocumentError>,
{
    text.parse().map_err(|error| match error {
        DocumentError::Invalid { line, key, why, .. } => DocumentError::Invalid {
            path: path.into(),
            line,
            key,
            why,
        },
        other => other,
    })
}

/// Makes `text.parse()` read documents of a type. The code is long, and compiled where this stands:
/// in the type's own crate, once for all that read such documents.
#[macro_export]
macro_rules! document {
    ($document:ty) => {
        impl std::str::FromStr for $document {
            type Err = $crate::DocumentError;

            #[inline(never)]
            fn from_str(text: &str) -> Result<Self, $crate::DocumentError> {
                $crate::parse(text)
            }
        }
    };
}

/// Reads a document from `text`. See [`document`] for types that several crates read.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, DocumentError> {
    let invalid = |key: String, error: &serde_json::Error| DocumentError::Invalid {
        path: PathBuf::new(),
        line: error.line(),
        key,
        why: without_place(&error.to_string()),
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let document = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| invalid(error.path().to_string(), error.inner()))?;
    json.end().map_err(|error| invalid(".".into(), &error))?;
    Ok(document)
}

/// `why` without serde_json's own " at line 2 column 3", which the error names first.
fn without_place(why: &str) -> String {
    why.rsplit_once(" at line ")
        .map_or(why, |parts| parts.0)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[allow(dead_code)]
        station: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[allow(dead_code)]
        x_m: f64,
    }

    fn said(text: &str) -> String {
        parse::<Outer>(text).unwrap_err().to_string()
    }

    #[test]
    fn an_error_names_line_and_key() {
        let text = "{\"station\": [\n{\"x_m\": 1},\n{\"x_m\": \"far\"}]}";
        assert_eq!(
            said(text),
            "line 3: station[1].x_m: invalid type: string \"far\", expected f64"
        );
    }

    #[test]
    fn unknown_and_missing_keys_are_refused() {
        assert_eq!(
            said("{\"station\": [{\"x_m\": 1, \"y\": 2}]}"),
            "line 1: station[0].y: unknown field `y`, expected `x_m`"
        );
        assert_eq!(said("{}"), "line 1: .: missing field `station`");
    }

    #[test]
    fn what_follows_the_document_is_refused() {
        assert_eq!(
            said("{\"station\": []} 1"),
            "line 1: .: trailing characters"
        );
    }

    #[test]
    fn deep_nesting_is_refused() {
        let text = format!("{{\"station\": {}", "[".repeat(100_000));
        assert!(said(&text).starts_with("line 1: station"));
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        let error = text(Path::new("/dev/zero")).unwrap_err();
        assert!(error
            .to_string()
            .contains("is no regular file but a device"));
        let error = text(Path::new("/nonexistent")).unwrap_err();
        assert!(matches!(error, DocumentError::Unreadable { .. }));
    }
}
