// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Radios whose channels have different widths or primary channels (IEEE 802.11-2020 10.23.2.5,
//! 21.3.18.5).

use std::collections::BTreeSet;

use crate::common::{at, at_5_ghz, category, one_by_one, saturate_and, Load};
use hoplab_medium_core::{
    AirKind, Block, Fate, Guard, Medium, Mhz, Output, Params, Punctured, RadioId, Rate, Standard,
    Station, Width,
};

const ON_36: Mhz = Mhz(5180);
const ON_40: Mhz = Mhz(5200);
const ON_44: Mhz = Mhz(5220);
const ON_48: Mhz = Mhz(5240);
const ON_52: Mhz = Mhz(5260);
/// In the second half of 320 MHz that begin with channel 36, as 6 GHz has them.
const ON_100: Mhz = Mhz(5340);
/// Far away.
const ON_149: Mhz = Mhz(5745);
const BYTES: usize = 1536;
const BEST_EFFORT: Option<u8> = Some(0);

fn vht(width: Width) -> Rate {
    Rate::vht(4, 1, width, false).expect("a rate of VHT")
}

fn eht(width: Width) -> Rate {
    Rate::eht(4, 1, width, Guard::Ns800).expect("a rate of EHT")
}

fn block(primary: Mhz, width: Width) -> Block {
    Block {
        primary,
        low: Mhz(if primary == ON_149 { 5735 } else { 5170 }),
        width,
        punctured: Punctured::NONE,
    }
}

/// Frames go one by one, as best effort without a TXOP.
fn medium(blocks: &[Block], stations: &[(Station, Mhz)]) -> Medium {
    let contends = category(3, 15, 1023, 0);
    let params = Params {
        phy: at_5_ghz(Standard::Eht {
            signal_extension: false,
        }),
        edca: Some(one_by_one([contends; 4])),
        blocks: blocks.into(),
        ..Params::default()
    };
    let places = stations.iter().map(|(station, _)| station.clone());
    let mut medium = Medium::new(params, places.collect(), Vec::new()).traced();
    for (radio, (_, channel)) in stations.iter().enumerate() {
        medium.place_on(RadioId::new(radio), *channel);
    }
    medium
}

/// What pairs came to in a second.
struct Done {
    /// Frames of each.
    frames: Vec<u64>,
    /// Data of each by width, from 20 to 320 MHz.
    widths: Vec<[u64; 5]>,
    /// Rates of each.
    rates: Vec<BTreeSet<Rate>>,
    /// Of all data.
    lost: u64,
}

fn saturate(medium: &mut Medium, pairs: &[(usize, usize, Rate)]) -> Done {
    let mut done = Done {
        frames: Vec::new(),
        widths: vec![[0; 5]; pairs.len()],
        rates: vec![BTreeSet::new(); pairs.len()],
        lost: 0,
    };
    let load = |rate| Load {
        bytes: BYTES,
        rate,
        rts: false,
    };
    let loads: Vec<_> = pairs.iter().map(|(.., rate)| load(*rate)).collect();
    let ends: Vec<_> = pairs.iter().map(|(from, to, _)| (*from, *to)).collect();
    let tids = vec![BEST_EFFORT; pairs.len()];
    let found = saturate_and(medium, &ends, &tids, 1, &loads, |output| {
        let Output::Aired(aired) = output else { return };
        if aired.kind != AirKind::Data {
            return;
        }
        let of = ends
            .iter()
            .position(|(from, _)| *from == aired.from.index());
        let of = of.expect("a sender");
        done.widths[of][aired.rate.width() as usize] += 1;
        done.rates[of].insert(aired.rate);
        done.lost += u64::from(aired.fate != Fate::Delivered);
    });
    done.frames = found.iter().map(|pair| pair.delivered).collect();
    done
}

#[test]
fn a_narrow_station_in_a_wide_cell_is_as_fast_as_in_a_narrow_one() {
    let pair = [(at("ap", 0.0), ON_36), (at("n0", 5.0), ON_36)];
    let carried = |widest| {
        let mut medium = medium(&[block(ON_36, widest)], &pair);
        medium.narrow(RadioId::new(1), Width::Mhz20);
        let done = saturate(&mut medium, &[(0, 1, vht(Width::Mhz20))]);
        assert_eq!(done.lost, 0);
        done.frames
    };
    let wide = carried(Width::Mhz80);
    assert_eq!(wide, carried(Width::Mhz20));
    assert!(wide[0] > 1500);
}

/// A pair on 80 MHz whose primary channel is 36, beside one on 20 MHz.
fn beside(other: Mhz, rate: Rate) -> Done {
    beside_in(block(ON_36, Width::Mhz80), other, rate)
}

/// A pair on this channel, whose primary one is 36, beside one on 20 MHz.
fn beside_in(own: Block, other: Mhz, rate: Rate) -> Done {
    let stations = [
        (at("a0", 0.0), ON_36),
        (at("a1", 5.0), ON_36),
        (at("b0", 10.0), other),
        (at("b1", 15.0), other),
    ];
    let blocks = [own, block(other, Width::Mhz20)];
    let mut medium = medium(&blocks, &stations);
    saturate(&mut medium, &[(0, 1, rate), (2, 3, vht(Width::Mhz20))])
}

#[test]
fn a_wide_sender_takes_what_is_free_beside_a_narrow_neighbour() {
    for (other, narrowed) in [(ON_40, 0), (ON_44, 1)] {
        let done = beside(other, vht(Width::Mhz80));
        let mut widths = done.widths[0];
        assert!(widths[narrowed] > 100 && widths[2] > 100, "{widths:?}");
        (widths[narrowed], widths[2]) = (0, 0);
        assert_eq!(widths, [0; 5]);
        let sent: u64 = done.widths.iter().flatten().sum();
        assert!(done.lost < sent / 20, "{} of {sent}", done.lost);
    }
}

#[test]
fn narrow_pairs_on_different_channels_of_a_wide_one_are_apart() {
    let alone = beside(ON_149, vht(Width::Mhz20));
    let together = beside(ON_44, vht(Width::Mhz20));
    assert_eq!(together.lost, 0);
    for (one, other) in alone.frames.iter().zip(&together.frames) {
        let share = *one as f64 / *other as f64;
        assert!((share - 1.0).abs() < 0.01, "{share}");
    }
}

#[test]
fn a_busy_half_of_320_mhz_leaves_the_other() {
    let done = beside_in(block(ON_36, Width::Mhz320), ON_100, eht(Width::Mhz320));
    let [.., on_160, on_320] = done.widths[0];
    assert!(on_160 > 100 && on_320 > 100, "{:?}", done.widths);
    let sent: u64 = done.widths.iter().flatten().sum();
    assert!(done.lost < sent / 20, "{} of {sent}", done.lost);
}

fn punctured(width: Width, bits: u16) -> Block {
    Block {
        punctured: Punctured(bits),
        ..block(ON_36, width)
    }
}

#[test]
fn a_punctured_subchannel_is_its_neighbours() {
    let rate = eht(Width::Mhz80);
    let alone = beside_in(punctured(Width::Mhz80, 0x8), ON_149, rate);
    let together = beside_in(punctured(Width::Mhz80, 0x8), ON_48, rate);
    assert_eq!(together.lost, 0);
    assert_eq!(together.frames, alone.frames);
    // Both are on it without puncturing, so the narrow one has to wait.
    let shared = beside_in(block(ON_36, Width::Mhz80), ON_48, rate);
    assert!(10 * shared.frames[1] < 9 * alone.frames[1]);
}

#[test]
fn a_narrower_frame_leaves_out_what_is_punctured_in_it() {
    // Without channel 48, beside one on channel 52: in the second 80 MHz.
    let done = beside_in(punctured(Width::Mhz160, 0x8), ON_52, eht(Width::Mhz160));
    let bits = |rate: &Rate| {
        let scheme = rate.scheme().expect("a rate of EHT");
        (rate.width(), scheme.punctured)
    };
    let found: BTreeSet<_> = done.rates[0].iter().map(bits).collect();
    let expected = [Width::Mhz80, Width::Mhz160].map(|width| (width, Punctured(0x8)));
    assert_eq!(found, BTreeSet::from(expected));
}

#[test]
fn no_frame_of_80_mhz_leaves_40_out() {
    // Without channels 44 and 48, beside one on channel 52.
    let done = beside_in(punctured(Width::Mhz160, 0xc), ON_52, eht(Width::Mhz160));
    let [on_20, on_40, on_80, on_160, _] = done.widths[0];
    assert_eq!((on_20, on_80), (0, 0));
    assert!(on_40 > 100 && on_160 > 100, "{:?}", done.widths);
}
