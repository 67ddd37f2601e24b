// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The channel inside the guest's kernel.
//!
//! A User-Mode Linux kernel is a program of its host, so Rust is linked into it like any library.
//! The C part (`kernel-modules/guest/c/medium.c`) calls the functions of [`entry`] with interrupts
//! off. It does so for each frame that `mac80211_hwsim` sends, and when the engine has something to
//! do. What hosts are to learn is given to C as it is decided, and C hands it to mac80211 after the
//! call. So a frame that a host sends because of it never meets an engine at work.
//!
//! Calls go up in this table:
//!
//! | | |
//! |---|---|
//! | `entry` | what C calls, and the one place of the engine |
//! | `engine` | document, channel, messages: no `unsafe` |
//! | `kernel` | what C offers, as hosts of the channel |
//! | `error` | why there is no engine |

mod engine;
pub mod entry;
mod error;
mod kernel;

/// Memory straight from the host: User-Mode Linux redirects `malloc` of what is linked into it to
/// its own, but not `realloc`.
#[cfg(feature = "in-kernel")]
#[global_allocator]
static MEMORY: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
