// SPDX-License-Identifier: Apache-2.0
//! Why the channel could not be set up, or ended.

use std::fmt;
use std::path::PathBuf;

use crate::libconfig::SyntaxError;
use crate::table::TableError;

/// What failed.
#[derive(Debug)]
pub enum Error {
    /// The channel, or a file that it needs.
    Medium(hoplab_medium::Error),
    /// The configuration cannot be used.
    Configuration { path: PathBuf, why: Mistake },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Medium(why) => write!(f, "{why}"),
            Error::Configuration { path, why } => write!(f, "{}: {why}", path.display()),
        }
    }
}

impl std::error::Error for Error {}

impl From<hoplab_medium::Error> for Error {
    fn from(why: hoplab_medium::Error) -> Self {
        Error::Medium(why)
    }
}

/// What is wrong in a configuration.
#[derive(Debug)]
pub enum Mistake {
    /// The file is none of libconfig's.
    Syntax(SyntaxError),
    /// The table of losses cannot be used.
    Table(TableError),
    /// A setting has a value that it cannot have.
    Expected { key: String, what: String },
    /// The model needs this setting.
    Missing(&'static str),
    /// This is no address.
    Address(String),
    /// No path loss has this name.
    PathLoss(Option<String>),
}

impl Mistake {
    pub(crate) fn expected(key: impl Into<String>, what: impl Into<String>) -> Self {
        let (key, what) = (key.into(), what.into());
        Mistake::Expected { key, what }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mistake::Syntax(why) => write!(f, "{why}"),
            Mistake::Table(why) => write!(f, "the table of losses: {why}"),
            Mistake::Expected { key, what } => write!(f, "{key}: expected {what}"),
            Mistake::Missing(key) => write!(f, "model.{key}: missing"),
            Mistake::Address(text) => write!(
                f,
                "ifaces.ids: {text:?} is not six hexadecimal octets with colons"
            ),
            Mistake::PathLoss(name) => write!(
                f,
                "model.model_name: {name:?} is none of log_distance, log_normal_shadowing, \
                 free_space, two_ray_ground, itu"
            ),
        }
    }
}

impl From<SyntaxError> for Mistake {
    fn from(why: SyntaxError) -> Self {
        Mistake::Syntax(why)
    }
}

impl From<TableError> for Mistake {
    fn from(why: TableError) -> Self {
        Mistake::Table(why)
    }
}
