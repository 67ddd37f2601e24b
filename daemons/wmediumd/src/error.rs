// SPDX-License-Identifier: Apache-2.0
//! Why the channel could not be set up, or ended.

use std::path::PathBuf;

use crate::libconfig::SyntaxError;
use crate::table::TableError;

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The channel, or a file that it needs.
    #[error(transparent)]
    Medium(#[from] hoplab_medium::Error),
    /// The configuration cannot be used.
    #[error("{}: {why}", .path.display())]
    Configuration { path: PathBuf, why: Mistake },
}

/// What is wrong in a configuration.
#[derive(Debug, thiserror::Error)]
pub enum Mistake {
    /// The file is not in libconfig's format.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The table of losses cannot be used.
    #[error("the table of losses: {0}")]
    Table(#[from] TableError),
    /// A setting has a value that it cannot have.
    #[error("{key}: expected {what}")]
    Expected { key: String, what: String },
    /// The model needs this setting.
    #[error("model.{0}: missing")]
    Missing(&'static str),
    /// This is no address.
    #[error("ifaces.ids: {0:?} is not six hexadecimal octets with colons")]
    Address(String),
    /// No path loss has this name.
    #[error(
        "model.model_name: {0:?} is none of log_distance, log_normal_shadowing, \
         free_space, two_ray_ground, itu"
    )]
    PathLoss(Option<String>),
}

impl Mistake {
    pub(crate) fn expected(key: impl Into<String>, what: impl Into<String>) -> Self {
        let (key, what) = (key.into(), what.into());
        Mistake::Expected { key, what }
    }
}
