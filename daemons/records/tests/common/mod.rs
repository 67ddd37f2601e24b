// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A folder that ends with its test.

use std::path::PathBuf;

pub struct Folder(pub PathBuf);

impl Folder {
    /// `name` is one that no other test here has.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("records-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
