// SPDX-License-Identifier: Apache-2.0
//! A duration in a configuration file is a number of seconds.

use crate::Duration;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.as_secs_f64())
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(d)?;
        if !(0.0..=1e9).contains(&seconds) {
            return Err(D::Error::custom(
                "expected a time from 0 to 1e9 seconds, give it as a number of seconds",
            ));
        }
        Ok(Duration::from_secs_f64(seconds))
    }
}
