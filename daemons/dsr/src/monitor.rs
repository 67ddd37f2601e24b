// SPDX-License-Identifier: Apache-2.0
//! Frames of a monitor interface: radiotap header, IEEE 802.11 header, LLC/SNAP, packet.

use hoplab_dsr_core::Mac;

/// A data frame heard on the air.
pub struct Heard<'a> {
    pub source: Mac,
    pub destination: Mac,
    pub packet: &'a [u8],
    pub signal_dbm: Option<i16>,
    /// Sequence control field and whether the Retry bit is set, to tell repetitions.
    pub sequence: u16,
    pub retry: bool,
}

fn le16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn mac(bytes: &[u8], at: usize) -> Option<Mac> {
    Some(Mac(bytes.get(at..at + 6)?.try_into().ok()?))
}

/// Parses an IBSS data frame; `None` for anything else.
pub fn parse(frame: &[u8]) -> Option<Heard<'_>> {
    let header = usize::from(le16(frame, 2)?);
    let signal_dbm = signal(frame.get(..header)?);
    let f = frame.get(header..)?;
    let control = le16(f, 0)?;
    // Type data, no ToDS/FromDS (IEEE 802.11-2020 9.2.4.1), not a null function, not protected.
    if control & 0x000c != 0x0008 || control & 0x4340 != 0 {
        return None;
    }
    let qos = control & 0x0080 != 0;
    let body = f.get(if qos { 26 } else { 24 }..)?;
    // LLC/SNAP with an EtherType (RFC 1042); only IPv4 is of interest here.
    let packet = body.strip_prefix(&[0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00])?;
    Some(Heard {
        destination: mac(f, 4)?,
        source: mac(f, 10)?,
        packet,
        signal_dbm,
        sequence: le16(f, 22)?,
        retry: control & 0x0800 != 0,
    })
}

/// The antenna signal (radiotap field 5), dBm.
fn signal(header: &[u8]) -> Option<i16> {
    let word =
        |at: usize| Some(u32::from(le16(header, at)?) | u32::from(le16(header, at + 2)?) << 16);
    let present = word(4)?;
    let (mut at, mut more) = (8, present);
    while more & 1 << 31 != 0 {
        more = word(at)?;
        at += 4;
    }
    // Fields before the signal: (size, alignment) of TSFT, flags, rate, channel, FHSS.
    for (bit, (size, align)) in [(8, 8), (1, 1), (1, 1), (4, 2), (2, 2)]
        .into_iter()
        .enumerate()
    {
        if present & 1 << bit != 0 {
            at = at.next_multiple_of(align) + size;
        }
    }
    (present & 1 << 5 != 0).then(|| header.get(at).map(|b| i16::from(*b as i8)))?
}

/// A BPF program that passes unicast data frames between others than `own`.
pub fn others_only(own: Mac) -> Vec<libc::sock_filter> {
    let tail = u32::from_be_bytes([own.0[2], own.0[3], own.0[4], own.0[5]]);
    let op = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let (byte, word) = (libc::BPF_LD | libc::BPF_B, libc::BPF_LD | libc::BPF_W);
    let (equal, set) = (
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K,
    );
    vec![
        op(byte | libc::BPF_ABS, 0, 0, 2), // radiotap length, always below 256
        op(libc::BPF_MISC | libc::BPF_TAX, 0, 0, 0),
        op(byte | libc::BPF_IND, 0, 0, 0), // frame control
        op(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, 0x0c),
        op(equal, 0, 7, 0x08), // data
        op(byte | libc::BPF_IND, 0, 0, 4),
        op(set, 5, 0, 1),                  // group address
        op(word | libc::BPF_IND, 0, 0, 6), // receiver, last four octets
        op(equal, 3, 0, tail),
        op(word | libc::BPF_IND, 0, 0, 12), // transmitter, last four octets
        op(equal, 1, 0, tail),
        op(libc::BPF_RET | libc::BPF_K, 0, 0, 0xffff),
        op(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ]
}
