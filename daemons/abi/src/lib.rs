// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What C and Rust share in the guest's kernel. `python -m hoplab.front.pages.abi` writes this file
//! from `kernel-modules/guest/abi.h`.

#![no_std]

use core::mem::size_of;

/// Rows of a frame's rate table.
pub const RATES: usize = 4;

/// A radio that the document does not name.
pub const UNKNOWN_RADIO: i32 = -1;

/// Octets that a resident program has of its own.
pub const OWN_OCTETS: usize = 64;

/// DSR's protocol of IP (RFC 4728 13).
pub const PROTOCOL_DSR: usize = 48;

/// A row of a frame's rate table.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// hwsim's index; below 0 for the table's end.
    pub index: i8,
    pub tries: u8,
    pub flags: u16,
}

const _: () = assert!(size_of::<Rate>() == 4);

/// A frame that a radio sends.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub bytes: *const u8,
    pub cookie: u64,
    pub length: u32,
    pub frequency_mhz: u32,
    /// Below 0 for one that the document does not name.
    pub radio: i32,
    /// Frames that its agreement may have outstanding; 0 without one.
    pub window: u32,
    pub rates: [Rate; RATES],
}

const _: () = assert!(size_of::<Frame>() == 48);

/// How a radio contends in a category, as a WMM element has it but for windows, which are no exponents.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Contention {
    pub aifsn: u32,
    pub cw_min: u32,
    pub cw_max: u32,
    /// In units of 32 us.
    pub txop: u32,
}

const _: () = assert!(size_of::<Contention>() == 16);

/// What became of a frame.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Status {
    pub cookie: u64,
    /// For how long it was on the air, all tries and their RTS together.
    pub airtime_ns: u64,
    /// Of an A-MPDU that ended with it: its tries.
    pub tries: [u32; RATES],
    /// Frames of that A-MPDU; 0 where none ended.
    pub frames: u32,
    /// Those that were acknowledged.
    pub frames_acked: u32,
    /// The receiver's host still waits for frames before this number; below 0 for none.
    pub gap: i32,
    pub acked: bool,
}

const _: () = assert!(size_of::<Status>() == 48);

// Of the C side.
unsafe extern "C" {
    /// A frame for the radio of an address, with hwsim's index of its rate.
    pub fn hoplab_medium_deliver(
        address: *const [u8; 6],
        bytes: *const u8,
        length: u32,
        frequency_mhz: u32,
        rate: u32,
        signal_dbm: i32,
    );
    /// What became of a frame of the radio of an address.
    pub fn hoplab_medium_status(address: *const [u8; 6], status: *const Status);
    /// End the guest with a message of so many octets.
    pub fn hoplab_medium_died(text: *const u8, length: u32) -> !;
    /// The process's own octets, zero at first and aligned for words of 64 bits.
    pub safe fn hoplab_resident_own() -> *mut u64;
    /// Whether a signal has come.
    pub safe fn hoplab_resident_stopped() -> bool;
    /// Note SIGTERM and SIGINT, and only while the program waits if so. A process does that itself.
    pub safe fn hoplab_resident_catch(in_wait: bool);
    /// Where the frames of a packet socket wait, of which it keeps as many; NULL for another descriptor. The filter of a foreign one lets through unicast frames between others, and nothing else.
    pub safe fn hoplab_resident_frames(fd: i32, most: u32, foreign: bool) -> *mut u8;
    /// DSR's packets that come to the socket's interface are for the program, and not for IP.
    pub fn hoplab_resident_serves_dsr(frames: *const u8, interface: i32);
    /// The first of them, its octets and the time at which it came, in ns; NULL if none waits.
    pub fn hoplab_resident_frame(frames: *const u8, length: *mut u32, stamp: *mut u64) -> *mut u8;
    /// The first one has been read.
    pub fn hoplab_resident_taken(frames: *mut u8);
    /// End the guest with a message of so many octets.
    pub fn hoplab_resident_died(text: *const u8, length: u32) -> !;
}

/// Types of the functions of the Rust side, by their names.
pub mod rust {
    use super::*;
    /// Begin with a document of so many octets; whether it can be used.
    pub type EngineStart = unsafe extern "C" fn(document: *const u8, length: usize) -> bool;
    /// The radio of an address.
    pub type EngineRadio = unsafe extern "C" fn(address: *const [u8; 6]) -> i32;
    /// Whether the engine makes block ack agreements by itself, and hosts must not.
    pub type EngineAgrees = extern "C" fn() -> bool;
    /// Frames that agreements of the hosts' own may have outstanding; 0 where they make none.
    pub type EngineWindow = extern "C" fn() -> u32;
    /// A radio sends a frame.
    pub type EngineSent = unsafe extern "C" fn(now: u64, frame: *const Frame);
    /// Whether radios are where they are tuned to, and not on channels that the document gives them.
    pub type EngineFollows = extern "C" fn() -> bool;
    /// From now on the radio is on the channel with this centre.
    pub type EngineTuned = extern "C" fn(now: u64, radio: i32, frequency_mhz: u32);
    /// From now on the radio's packets go by way of the access point of this address; NULL for none.
    pub type EngineAssociated = unsafe extern "C" fn(now: u64, radio: i32, point: *const [u8; 6]);
    /// From now on the radio, a client's, contends like this in the category; mac80211 numbers them.
    pub type EngineContends =
        unsafe extern "C" fn(now: u64, radio: i32, category: u32, contention: *const Contention);
    /// Time has come to this instant.
    pub type EngineAdvance = extern "C" fn(now: u64);
    /// When it is to be called next; all ones for never.
    pub type EngineDue = extern "C" fn() -> u64;
    /// A delivery, or else a status, found nobody.
    pub type EngineRefused = extern "C" fn(delivery: bool);
    pub type EngineHasMessage = extern "C" fn() -> bool;
    pub type EngineHasFailed = extern "C" fn() -> bool;
    /// Its first message, of which as many octets are taken as there is room for; returns their number.
    pub type EngineMessage = unsafe extern "C" fn(room: *mut u8, size: usize) -> usize;
    /// Write the records; whether they are complete.
    pub type EngineEnd = extern "C" fn(now: u64) -> bool;
    /// A defect on demand.
    pub type EngineCrash = extern "C" fn();
    /// Do what a request asks for; whether it was done, else why not, is its next message.
    pub type EngineChange =
        unsafe extern "C" fn(now: u64, request: *const u8, length: usize) -> bool;
    /// Route by a document of so many octets, until a signal comes; whether without an error.
    pub type DsrRun = unsafe extern "C" fn(document: *const u8, length: usize) -> bool;
}
