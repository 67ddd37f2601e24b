// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters that are named once.

/// Declares a struct of counters, whose fields are also their names in records:
/// `counters! { /// What it counts. Name { field, other, } }`.
#[macro_export]
macro_rules! counters {
    ($(#[$about:meta])* $struct:ident { $($(#[$doc:meta])* $name:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $struct {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl $struct {
            /// Every counter with its name.
            pub fn counters(&self) -> $crate::Vec<(&'static str, u64)> {
                $crate::Vec::from([$((stringify!($name), self.$name),)*])
            }
        }
    };
}
