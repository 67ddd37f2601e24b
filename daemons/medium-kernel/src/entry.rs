// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What C calls (`kernel-modules/guest/abi.h`), always with interrupts off.

use std::slice;
use std::sync::{Mutex, MutexGuard};

use hoplab_abi::{rust, Contention, Frame};
use hoplab_channel::rates::RateEntry;
use hoplab_medium_core::{Category, CategoryParams, Duration, Instant, RadioId};
use hoplab_wire::Mac;

use crate::engine::{Engine, FrameOf};
use crate::kernel;

const NEVER: u64 = u64::MAX;
/// Of a TXOP limit (IEEE 802.11-2020 9.4.2.28).
const TXOP_UNIT: Duration = Duration::from_micros(32);

/// The engine at work; none between runs.
static ENGINE: Mutex<Option<Engine>> = Mutex::new(None);

/// The engine. With interrupts off nothing else can use it. Two calls at once would be a defect of
/// the C part, and nothing after them could be trusted.
fn engine() -> MutexGuard<'static, Option<Engine>> {
    match ENGINE.try_lock() {
        Ok(engine) => engine,
        Err(_) => kernel::die("the engine was called while it was at work"),
    }
}

fn with<T>(otherwise: T, work: impl FnOnce(&mut Engine) -> T) -> T {
    engine().as_mut().map_or(otherwise, work)
}

/// Begin with a document of `length` octets; whether it can be used.
///
/// # Safety
/// There are so many octets.
#[no_mangle]
pub unsafe extern "C" fn hoplab_engine_start(document: *const u8, length: usize) -> bool {
    std::panic::set_hook(Box::new(|about| {
        kernel::die(&about.to_string().replace('\n', " "))
    }));
    // SAFETY: as this function's.
    let octets = unsafe { slice::from_raw_parts(document, length) };
    let text = String::from_utf8_lossy(octets);
    let (started, other) = match Engine::new(&text) {
        Ok(engine) => (true, engine),
        Err(why) => (false, Engine::refusing(&why)),
    };
    *engine() = Some(other);
    started
}

/// A radio as C names it, below 0 for one that the document does not name.
fn named(radio: i32) -> Option<RadioId> {
    usize::try_from(radio).ok().map(RadioId::new)
}

/// The radio of an address of six octets; below 0 for one that the document does not name.
///
/// # Safety
/// There are six octets.
#[no_mangle]
pub unsafe extern "C" fn hoplab_engine_radio(address: *const [u8; 6]) -> i32 {
    // SAFETY: as this function's.
    let address = Mac(unsafe { *address });
    with(-1, |engine| {
        engine
            .radio(address)
            .map_or(-1, |radio| radio.index() as i32)
    })
}

/// Whether hosts must make no block ack agreements.
#[no_mangle]
pub extern "C" fn hoplab_engine_agrees() -> bool {
    with(false, |engine| engine.agrees())
}

/// Frames that agreements of the hosts' own may have outstanding; 0 where they make none.
#[no_mangle]
pub extern "C" fn hoplab_engine_window() -> u32 {
    with(0, |engine| engine.window() as u32)
}

/// Whether radios are where their hosts tune them to.
#[no_mangle]
pub extern "C" fn hoplab_engine_follows() -> bool {
    with(false, |engine| engine.follows())
}

/// From `now` in ns on, a radio is on the channel with this centre in MHz. The radio is below 0 if
/// the document does not name it.
#[no_mangle]
pub extern "C" fn hoplab_engine_tuned(now: u64, radio: i32, mhz: u32) {
    let radio = named(radio);
    if let Ok(mhz) = u16::try_from(mhz) {
        with((), |engine| engine.tuned(Instant(now), radio, mhz));
    }
}

/// From `now` in ns on, packets of a radio go by way of the access point with this address; null
/// for none. The radio is below 0 if the document does not name it.
///
/// # Safety
/// The address has six octets.
#[no_mangle]
pub unsafe extern "C" fn hoplab_engine_associated(now: u64, radio: i32, point: *const [u8; 6]) {
    let radio = named(radio);
    // SAFETY: as this function's.
    let point = unsafe { point.as_ref() }.copied().map(Mac);
    with((), |engine| engine.associated(Instant(now), radio, point));
}

/// From `now` in ns on, a radio contends like this in the category of this number, 0 for voice. The
/// radio is below 0 if the document does not name it.
///
/// # Safety
/// `contention` is one.
#[no_mangle]
pub unsafe extern "C" fn hoplab_engine_contends(
    now: u64,
    radio: i32,
    category: u32,
    contention: *const Contention,
) {
    let radio = named(radio);
    // SAFETY: as this function's.
    let contention = unsafe { *contention };
    let params = CategoryParams {
        aifsn: contention.aifsn,
        cw_min: contention.cw_min,
        cw_max: contention.cw_max,
        txop: u64::from(contention.txop) * TXOP_UNIT,
    };
    if let Some(category) = Category::ALL.get(category as usize) {
        with((), |engine| {
            engine.contends(Instant(now), radio, *category, params);
        });
    }
}

/// A radio sends a frame, at `now` in ns.
///
/// # Safety
/// The frame has as many octets as it says.
#[no_mangle]
pub unsafe extern "C" fn hoplab_engine_sent(now: u64, frame: *const Frame) {
    // SAFETY: as this function's.
    let frame = unsafe { &*frame };
    // SAFETY: as this function's.
    let bytes = unsafe { slice::from_raw_parts(frame.bytes, frame.length as usize) };
    let rows = frame.rates.iter().map_while(|row| {
        Some(RateEntry {
            index: u8::try_from(row.index).ok()?,
            tries: row.tries.max(1),
            flags: row.flags,
        })
    });
    let radio = named(frame.radio);
    let frame = FrameOf {
        bytes,
        frequency_mhz: frame.frequency_mhz,
        cookie: frame.cookie,
        rates: rows.collect(),
        window: frame.window as usize,
    };
    with((), |engine| engine.sent(Instant(now), radio, frame));
}

/// Time has come to `now`, in ns.
#[no_mangle]
pub extern "C" fn hoplab_engine_advance(now: u64) {
    with((), |engine| engine.advance(Instant(now)));
}

/// When it is to be called next, in ns; all ones for never.
#[no_mangle]
pub extern "C" fn hoplab_engine_due() -> u64 {
    with(NEVER, |engine| {
        engine.due().map_or(NEVER, |due| due.as_nanos())
    })
}

/// A delivery, or else a status, found nobody.
#[no_mangle]
pub extern "C" fn hoplab_engine_refused(delivery: bool) {
    with((), |engine| {
        if delivery {
            engine.refused_delivery();
        } else {
            engine.refused_status();
        }
    });
}

/// Whether it has something to say.
#[no_mangle]
pub extern "C" fn hoplab_engine_has_message() -> bool {
    with(false, |engine| engine.has_message())
}

/// Whether its work has failed; why, is said.
#[no_mangle]
pub extern "C" fn hoplab_engine_has_failed() -> bool {
    with(false, |engine| engine.has_failed())
}

/// Its first message, of which as many octets are taken as there is room for; returns their number.
///
/// # Safety
/// There is room for `size` octets.
#[no_mangle]
pub unsafe extern "C" fn hoplab_engine_message(room: *mut u8, size: usize) -> usize {
    let Some(text) = with(None, Engine::message) else {
        return 0;
    };
    let length = text.len().min(size);
    // SAFETY: as this function's; the text has at least that length, and is elsewhere.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), room, length) };
    length
}

/// Write the records at `now` in ns; whether they are complete.
#[no_mangle]
pub extern "C" fn hoplab_engine_end(now: u64) -> bool {
    with(true, |engine| engine.end(Instant(now)))
}

/// Do what a request of `length` octets asks for, at `now` in ns; whether that was possible. Why not, is
/// its next message.
///
/// # Safety
/// There are so many octets.
#[no_mangle]
pub unsafe extern "C" fn hoplab_engine_change(now: u64, request: *const u8, length: usize) -> bool {
    // SAFETY: as this function's.
    let request = unsafe { slice::from_raw_parts(request, length) };
    with(false, |engine| engine.change(Instant(now), request))
}

/// A defect on demand, as the kernel's own sysrq has one: what follows a panic can be tried.
#[no_mangle]
pub extern "C" fn hoplab_engine_crash() {
    with((), |_| panic!("asked to"));
}

/// They are what C calls.
const _: rust::EngineStart = hoplab_engine_start;
const _: rust::EngineRadio = hoplab_engine_radio;
const _: rust::EngineAgrees = hoplab_engine_agrees;
const _: rust::EngineWindow = hoplab_engine_window;
const _: rust::EngineSent = hoplab_engine_sent;
const _: rust::EngineFollows = hoplab_engine_follows;
const _: rust::EngineTuned = hoplab_engine_tuned;
const _: rust::EngineAssociated = hoplab_engine_associated;
const _: rust::EngineContends = hoplab_engine_contends;
const _: rust::EngineAdvance = hoplab_engine_advance;
const _: rust::EngineDue = hoplab_engine_due;
const _: rust::EngineRefused = hoplab_engine_refused;
const _: rust::EngineHasMessage = hoplab_engine_has_message;
const _: rust::EngineHasFailed = hoplab_engine_has_failed;
const _: rust::EngineMessage = hoplab_engine_message;
const _: rust::EngineEnd = hoplab_engine_end;
const _: rust::EngineCrash = hoplab_engine_crash;
const _: rust::EngineChange = hoplab_engine_change;
