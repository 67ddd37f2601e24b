// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The routing daemons and the ends of flows as a part of the guest's kernel.
//!
//! A system call of a guest's process costs two switches of the host between programs, and a relay
//! needs two for each packet. So the kernel runs the program's own code within one system call of its
//! process (`kernel-modules/guest/c/resident.c`). All that the code asks of Linux goes to
//! the same system calls as before, in the same order, by a call of a function. So digests are those of
//! the program in its process.

use std::fmt::Display;
use std::slice;
use std::str::FromStr;

use hoplab_abi::{hoplab_resident_died, rust};
use hoplab_document::DocumentError;
use hoplab_linux::{say, signals};

/// Memory straight from the host: User-Mode Linux redirects `malloc` of what is linked into it to its
/// own, but not `realloc`.
#[cfg(feature = "in-kernel")]
#[global_allocator]
static MEMORY: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Run the program of a name, a line, by its document, `length` octets together, until a signal comes;
/// whether that was without an error. Why not, is said to the process's standard error.
///
/// # Safety
/// There are so many octets.
#[no_mangle]
pub unsafe extern "C" fn hoplab_dsr_run(document: *const u8, length: usize) -> bool {
    std::panic::set_hook(Box::new(|about| {
        let text = about.to_string().replace('\n', " ");
        // SAFETY: C reads that many octets and does not return.
        unsafe { hoplab_resident_died(text.as_ptr(), text.len() as u32) }
    }));
    // SAFETY: as this function's.
    let octets = unsafe { slice::from_raw_parts(document, length) };
    let text = String::from_utf8_lossy(octets);
    let (name, document) = text.split_once('\n').unwrap_or_default();
    match run(name, document) {
        Ok(()) => true,
        Err(why) => {
            say::warning(&format!("{name}: {why}"));
            false
        }
    }
}

/// It is what C calls.
const _: rust::DsrRun = hoplab_dsr_run;
/// C knows the packets that the daemon serves.
const _: () = assert!(hoplab_abi::PROTOCOL_DSR == hoplab_wire::PROTOCOL_DSR as usize);

fn run(name: &str, document: &str) -> Result<(), String> {
    signals::catch_in_wait();
    match name {
        hoplab_dsr::NAME => serving(document, hoplab_dsr::serve),
        hoplab_traffic::NAME => serving(document, |config| {
            hoplab_traffic::catch_signals(config);
            hoplab_traffic::serve(config)
        }),
        _ => match hoplab_router::serve_named(name, document) {
            Some(served) => served.map_err(|why| why.to_string()),
            None => Err("is no program of this kernel".into()),
        },
    }
}

fn serving<Config: FromStr<Err = DocumentError>, Error: Display>(
    document: &str,
    serve: fn(&Config) -> Result<(), Error>,
) -> Result<(), String> {
    let config = document.parse::<Config>().map_err(|why| why.to_string())?;
    serve(&config).map_err(|why| why.to_string())
}
