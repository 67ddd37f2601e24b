// SPDX-License-Identifier: Apache-2.0
//! wmediumd's requests and answers: one octet that says what it is, then fields without gaps, numbers
//! in network byte order, addresses as they are.
//!
//! | type | request | fields |
//! |---|---|---|
//! | 0 | end | |
//! | 1 | SNR of a link | from, to, i32 dB |
//! | 3, 5 | remove a radio | address; i32 index |
//! | 7 | add a radio | address |
//! | 9 | loss of a link | from, to, u32 |
//! | 11 | losses of a link by size and rate | from, to, 144 u32 |
//! | 13 | place | address, f32 x, y, z in m |
//! | 15, 17, 19 | power, gain, height | address, i32 dBm, dBi, m |
//! | 21 | deviation of what is sent | address, f32 dB |
//! | 23 | medium | address, i32 |
//!
//! An answer is the type plus 1, the whole request (of type 11 without its matrix), for type 7 the
//! new index, and a result.

use hoplab_medium_core::{Dbm, Position};
use hoplab_wire::Mac;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Done = 0,
    UnknownRadio = 1,
    Duplicate = 2,
    WrongMode = 3,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Request {
    End,
    Snr {
        from: Mac,
        to: Mac,
        db: i32,
    },
    Remove(Mac),
    RemoveIndex(i32),
    Add(Mac),
    Loss {
        from: Mac,
        to: Mac,
        probability: f64,
    },
    Losses {
        from: Mac,
        to: Mac,
    },
    Place(Mac, Position),
    Power(Mac, Dbm),
    Gain(Mac, i32),
    Height(Mac, i32),
    Deviation(Mac, f64),
    Medium(Mac, i32),
    /// Of a type that there is not.
    Unknown,
}

const MATRIX_OCTETS: usize = 12 * 12 * 4;
pub const ADD: u8 = 7;
const LOSSES: u8 = 11;

/// Octets of a request of this type; none where there is no such type.
fn length(kind: u8) -> Option<usize> {
    Some(match kind {
        0 => 1,
        1 | 9 => 17,
        3 | 7 => 7,
        5 => 5,
        LOSSES => 13 + MATRIX_OCTETS,
        13 => 19,
        15 | 17 | 19 | 21 | 23 => 11,
        _ => return None,
    })
}

/// The first request of what has come, and its octets; none where it is not whole yet.
///
/// Nobody knows how long one of an unknown type is, so it takes all there is.
pub fn parse(bytes: &[u8]) -> Option<(Request, &[u8])> {
    let kind = *bytes.first()?;
    let Some(length) = length(kind) else {
        return Some((Request::Unknown, bytes));
    };
    let whole = bytes.get(..length)?;
    Some((request(kind, whole)?, whole))
}

fn request(kind: u8, bytes: &[u8]) -> Option<Request> {
    let at = |from: usize| bytes.get(from..from + 4)?.try_into().ok();
    let address = |from: usize| bytes.get(from..from + 6)?.try_into().ok().map(Mac);
    let integer = |from| at(from).map(i32::from_be_bytes);
    let real = |from| at(from).map(|octets| f64::from(f32::from_be_bytes(octets)));
    Some(match kind {
        0 => Request::End,
        1 => Request::Snr {
            from: address(1)?,
            to: address(7)?,
            db: integer(13)?,
        },
        3 => Request::Remove(address(1)?),
        5 => Request::RemoveIndex(integer(1)?),
        ADD => Request::Add(address(1)?),
        9 => Request::Loss {
            from: address(1)?,
            to: address(7)?,
            probability: probability(at(13).map(u32::from_be_bytes)?),
        },
        LOSSES => Request::Losses {
            from: address(1)?,
            to: address(7)?,
        },
        13 => {
            let place = Position {
                x_m: real(7)?,
                y_m: real(11)?,
                z_m: real(15)?,
            };
            Request::Place(address(1)?, place)
        }
        15 => Request::Power(address(1)?, Dbm(integer(7)?.into())),
        17 => Request::Gain(address(1)?, integer(7)?),
        19 => Request::Height(address(1)?, integer(7)?),
        21 => Request::Deviation(address(1)?, real(7)?),
        23 => Request::Medium(address(1)?, integer(7)?),
        _ => return None,
    })
}

/// The peer sends 2^32 - p 2^31.
fn probability(sent: u32) -> f64 {
    const ONE: f64 = (1u32 << 31) as f64;
    (f64::from(sent.wrapping_neg()) / ONE).min(1.0)
}

/// The octets to send back; `index` is that of a radio that was added.
pub fn answer(bytes: &[u8], index: i32, result: Answer) -> Vec<u8> {
    let kind = bytes.first().copied().unwrap_or(0);
    let mut answer = vec![kind.wrapping_add(1)];
    match kind {
        LOSSES => answer.extend(&bytes[1..13.min(bytes.len())]),
        _ => answer.extend(bytes),
    }
    if kind == ADD {
        answer.extend(index.to_be_bytes());
    }
    answer.push(result as u8);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Mac = Mac([2, 0, 0, 0, 0, 0]);
    const SECOND: Mac = Mac([2, 0, 0, 0, 1, 0]);

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(|c| *c != b' ').collect();
        let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair));
        let octets = pairs.map(|pair| u8::from_str_radix(pair.expect("ASCII"), 16));
        octets.collect::<Result<_, _>>().expect("hexadecimal")
    }

    /// As Mininet-WiFi 2.7 packs them.
    #[test]
    fn requests_and_their_answers() {
        let place = Position {
            x_m: 11.0,
            y_m: 10.0,
            z_m: 0.0,
        };
        let cases = [
            (
                "0d 020000000000 41300000 41200000 00000000",
                Request::Place(FIRST, place),
                "",
            ),
            (
                "0f 020000000000 0000000e",
                Request::Power(FIRST, Dbm(14.0)),
                "",
            ),
            ("11 020000000100 00000005", Request::Gain(SECOND, 5), ""),
            ("13 020000000100 00000002", Request::Height(SECOND, 2), ""),
            (
                "15 020000000100 bfc00000",
                Request::Deviation(SECOND, -1.5),
                "",
            ),
            ("17 020000000100 00000003", Request::Medium(SECOND, 3), ""),
            ("03 020000000100", Request::Remove(SECOND), ""),
            ("05 00000001", Request::RemoveIndex(1), ""),
            ("07 020000000100", Request::Add(SECOND), "ffffffff"),
            (
                "01 020000000000 020000000100 fffffff6",
                Request::Snr {
                    from: FIRST,
                    to: SECOND,
                    db: -10,
                },
                "",
            ),
            (
                "09 020000000000 020000000100 c0000000",
                Request::Loss {
                    from: FIRST,
                    to: SECOND,
                    probability: 0.5,
                },
                "",
            ),
        ];
        for (sent, expected, index) in cases {
            let bytes = hex(sent);
            assert_eq!(parse(&bytes), Some((expected, &bytes[..])), "{sent}");
            assert_eq!(parse(&bytes[..bytes.len() - 1]), None, "{sent}");
            let kind = format!("{:02x}", bytes[0] + 1);
            let told = hex(&format!("{kind} {sent} {index} 00"));
            assert_eq!(answer(&bytes, -1, Answer::Done), told, "{sent}");
        }
    }

    #[test]
    fn a_matrix_is_not_repeated_and_unknown_types_are_answered() {
        let mut matrix = hex("0b 020000000000 020000000100");
        matrix.extend([0; MATRIX_OCTETS]);
        let losses = Request::Losses {
            from: FIRST,
            to: SECOND,
        };
        assert_eq!(parse(&matrix), Some((losses, &matrix[..])));
        let told = hex("0c 020000000000 020000000100 03");
        assert_eq!(answer(&matrix, 0, Answer::WrongMode), told);
        let unknown = hex("63 01 02");
        assert_eq!(parse(&unknown), Some((Request::Unknown, &unknown[..])));
        assert_eq!(
            answer(&unknown, 0, Answer::WrongMode),
            hex("64 63 01 02 03")
        );
    }

    #[test]
    fn probabilities_are_fixed_point_numbers() {
        assert_eq!(probability(0), 0.0);
        assert_eq!(probability(1 << 31), 1.0);
        assert_eq!(probability(0xe000_0000), 0.25);
        assert_eq!(probability(1), 1.0);
    }
}
