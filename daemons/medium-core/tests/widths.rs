// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Radios whose channels have different widths or primary channels (IEEE 802.11-2020 10.23.2.5,
//! 21.3.18.5).

mod common;

use common::{at, at_5_ghz, category, one_by_one, saturate_and, Load};
use hoplab_medium_core::{
    AirKind, Block, Fate, Medium, Mhz, Output, Params, RadioId, Rate, Standard, Station, Width,
};

const ON_36: Mhz = Mhz(5180);
const ON_40: Mhz = Mhz(5200);
const ON_44: Mhz = Mhz(5220);
/// Far away.
const ON_149: Mhz = Mhz(5745);
const BYTES: usize = 1536;
const BEST_EFFORT: Option<u8> = Some(0);

fn vht(width: Width) -> Rate {
    Rate::vht(4, 1, width, false).expect("a rate of VHT")
}

fn block(primary: Mhz, width: Width) -> Block {
    Block {
        primary,
        low: Mhz(if primary == ON_149 { 5735 } else { 5170 }),
        width,
    }
}

/// Frames go one by one, as best effort without a TXOP.
fn medium(blocks: &[Block], stations: &[(Station, Mhz)]) -> Medium {
    let contends = category(3, 15, 1023, 0);
    let params = Params {
        phy: at_5_ghz(Standard::Vht {
            signal_extension: false,
        }),
        edca: Some(one_by_one([contends; 4])),
        blocks: blocks.into(),
        trace: true,
        ..Params::default()
    };
    let places = stations.iter().map(|(station, _)| station.clone());
    let mut medium = Medium::new(params, places.collect(), Vec::new());
    for (radio, (_, channel)) in stations.iter().enumerate() {
        medium.place_on(RadioId::new(radio), *channel);
    }
    medium
}

/// What pairs came to in a second.
struct Done {
    /// Frames of each.
    frames: Vec<u64>,
    /// Data of each by width: on 20, 40 and 80 MHz.
    widths: Vec<[u64; 3]>,
    /// Of all data.
    lost: u64,
}

fn saturate(medium: &mut Medium, pairs: &[(usize, usize, Rate)]) -> Done {
    let mut done = Done {
        frames: Vec::new(),
        widths: vec![[0; 3]; pairs.len()],
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
        let width = match aired.rate.width() {
            Width::Mhz20 => 0,
            Width::Mhz40 => 1,
            _ => 2,
        };
        done.widths[of.expect("a sender")][width] += 1;
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
    let stations = [
        (at("a0", 0.0), ON_36),
        (at("a1", 5.0), ON_36),
        (at("b0", 10.0), other),
        (at("b1", 15.0), other),
    ];
    let blocks = [block(ON_36, Width::Mhz80), block(other, Width::Mhz20)];
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
        assert_eq!(widths, [0; 3]);
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
