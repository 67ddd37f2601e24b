// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The settings of RFC 4728, as `hoplab/model/keys/dsr.py` declares them.

use hoplab_dsr_core::Settings;

/// Those of `settings.json`, which `python -m hoplab.front.pages.keys` writes.
pub fn settings() -> Settings {
    serde_json::from_str(include_str!("../settings.json")).expect("a document of settings")
}
