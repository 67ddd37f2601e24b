// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of the kernel's own IP layer.

use hoplab_linux::say;

/// Writes a setting below `/proc/sys/net`; a warning tells if that fails.
pub fn set(name: &str, value: &str) {
    let path = format!("/proc/sys/net/{name}");
    if let Err(e) = std::fs::write(&path, value) {
        say::warning(&format!("{path}: could not write {value}: {e}"));
    }
}
