// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine's throughput against closed formulae. `--nocapture` prints the tables of
//! `docs/medium-figures.md`.

use crate::common::{at, at_5_ghz, saturate, saturated, Load, OFDM, SATURATED};
use hoplab_medium_core::{Medium, Params, Phy, Rate, Standard, Width};

fn dsss(rate_mbps: f64) -> (Params, f64) {
    (Params::default(), rate_mbps)
}

/// With the short PPDU from 2 Mbit/s on. Answers at `basic_rate` are long at 1 Mbit/s.
fn short(rate_mbps: f64, basic_rate: Rate) -> (Params, f64) {
    let phy = Phy {
        short_preamble: true,
        basic_rate,
        ..Params::default().phy
    };
    let params = Params {
        phy,
        ..Params::default()
    };
    (params, rate_mbps)
}

fn ofdm(rate_mbps: f64) -> (Params, f64) {
    let params = Params {
        phy: at_5_ghz(OFDM),
        ..Params::default()
    };
    (params, rate_mbps)
}

/// Microseconds on the air: DSSS, OFDM (Jun, Peddabachagari, Sichitiu 2003, section 3: T_DATA,
/// T_ACK). DSSS has a PLCP of 192 us, or 96 from 2 Mbit/s on if that may be short (16.2.2.3).
fn air_us(bytes: f64, rate_mbps: f64, short: bool) -> f64 {
    if [1.0, 2.0, 5.5, 11.0].contains(&rate_mbps) {
        let plcp = if short && rate_mbps >= 2.0 {
            96.0
        } else {
            192.0
        };
        plcp + (8.0 * bytes / rate_mbps).ceil()
    } else {
        20.0 + 4.0 * ((22.0 + 8.0 * bytes) / (4.0 * rate_mbps)).ceil()
    }
}

/// Jun, Peddabachagari, Sichitiu 2003, equation 2: one sender's cycle is DIFS, the mean backoff and
/// the exchange. MSDU to frame: 24 bytes of header, 4 of FCS; here 8 of LLC/SNAP, 28 of IP and UDP.
#[test]
fn one_sender_reaches_the_theoretical_maximum() {
    println!("rate basic short payload rts measured_mbps theory_mbps deviation");
    let cases = [
        dsss(1.0),
        dsss(2.0),
        dsss(5.5),
        dsss(11.0),
        short(1.0, Rate::DSSS_1),
        short(11.0, Rate::DSSS_1),
        short(2.0, Rate::DSSS_2),
        short(5.5, Rate::DSSS_2),
        short(11.0, Rate::DSSS_2),
        ofdm(6.0),
        ofdm(24.0),
        ofdm(54.0),
    ];
    for (params, rate) in cases {
        let brief = params.phy.short_preamble;
        let control = |bytes| air_us(bytes, params.phy.basic_rate.mbps(), brief);
        for payload in [100usize, 500, 1000, 1472] {
            for rts in [false, true] {
                let bytes = payload + 28 + 8 + 28;
                let phy = &params.phy;
                let (sifs, slot) = (1e6 * phy.sifs.as_secs_f64(), 1e6 * phy.slot.as_secs_f64());
                let mut cycle = sifs + 2.0 * slot + f64::from(phy.cw_min) / 2.0 * slot;
                cycle += air_us(bytes as f64, rate, brief) + sifs + control(14.0);
                if rts {
                    cycle += control(20.0) + control(14.0) + 2.0 * sifs;
                }
                let theory = payload as f64 * 8.0 / cycle;
                let mut medium =
                    Medium::new(params.clone(), vec![at("a", 0.0), at("b", 100.0)], vec![]);
                let load = Load {
                    bytes,
                    rate: Rate::from_mbps(rate).expect("a rate of the standard"),
                    rts,
                };
                let done = saturate(&mut medium, &[(0, 1)], 30, load)[0];
                assert_eq!(done.delivered, done.acked);
                let measured = done.delivered as f64 * payload as f64 * 8.0 / 30e6;
                let deviation = measured / theory - 1.0;
                println!(
                    "{rate} {} {brief} {payload} {rts} {measured:.4} {theory:.4} {:+.2} %",
                    phy.basic_rate.mbps(),
                    100.0 * deviation
                );
                assert!(deviation.abs() < 0.01, "{rate} {brief} {payload} {rts}");
            }
        }
    }
}

/// The same for HT and VHT: in 5 GHz, 66 bytes of QoS header, LLC/SNAP, IP, UDP and FCS, a delimiter
/// of 4 in VHT. Microseconds of preamble, data bits a symbol and tail bits are read off the tables.
#[test]
fn one_sender_reaches_the_maximum_of_ht_and_vht() {
    use Width::{Mhz20, Mhz40, Mhz80};
    let cases = [
        (Rate::ht(0, Mhz20, false), 36.0, 26.0, 6.0, false),
        (Rate::ht(7, Mhz20, false), 36.0, 260.0, 6.0, false),
        (Rate::ht(15, Mhz40, true), 40.0, 1080.0, 6.0, false),
        (Rate::vht(9, 1, Mhz80, false), 40.0, 1560.0, 6.0, true),
        (Rate::vht(9, 2, Mhz80, true), 44.0, 3120.0, 12.0, true),
    ];
    for (rate, preamble, symbol_bits, tail, is_vht) in cases {
        let rate = rate.expect("a rate of the standard");
        for payload in [100usize, 1472] {
            let bytes = payload + 66;
            let delimiter = if is_vht { 4.0 } else { 0.0 };
            let bits = 16.0 + 8.0 * (bytes as f64 + delimiter) + tail;
            let symbols = (bits / symbol_bits).ceil();
            let short = rate.mbps() > symbol_bits / 4.0;
            let data = if short {
                4.0 * (3.6 * symbols / 4.0).ceil()
            } else {
                4.0 * symbols
            };
            // DIFS, the mean backoff, the frame, SIFS, an ACK at 6 Mbit/s.
            let cycle = 34.0 + 7.5 * 9.0 + preamble + data + 16.0 + 44.0;
            let theory = payload as f64 * 8.0 / cycle;
            let (mut params, _) = ofdm(6.0);
            params.phy.standard = Standard::Vht {
                signal_extension: false,
            };
            let mut medium = Medium::new(params, vec![at("a", 0.0), at("b", 100.0)], vec![]);
            let load = Load {
                bytes,
                rate,
                rts: false,
            };
            let done = saturate(&mut medium, &[(0, 1)], 30, load)[0];
            let measured = done.delivered as f64 * payload as f64 * 8.0 / 30e6;
            let deviation = measured / theory - 1.0;
            println!("{rate} {payload} {measured:.4} {theory:.4} {deviation:+.4}");
            assert!(deviation.abs() < 0.01, "{rate} {payload}");
        }
    }
}

struct Model {
    frames_per_s: f64,
    collision: f64,
}

/// Bianchi 2000: the fixed point of tau (equation 7) and p (equation 9), throughput from it
/// (equation 13) with E[P] of one frame.
fn bianchi(n: f64, success_us: f64, collision_us: f64) -> Model {
    let (w, m) = (32.0f64, 5.0f64);
    let tau = |p: f64| {
        2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (w + 1.0) + p * w * (1.0 - (2.0 * p).powf(m)))
    };
    let (mut low, mut high) = (0.0, 0.999);
    for _ in 0..200 {
        let p = (low + high) / 2.0;
        if 1.0 - (1.0 - tau(p)).powf(n - 1.0) > p {
            low = p;
        } else {
            high = p;
        }
    }
    let p = if n == 1.0 { 0.0 } else { low };
    let t = tau(p);
    let some = 1.0 - (1.0 - t).powf(n);
    let one = n * t * (1.0 - t).powf(n - 1.0) / some;
    let slot = (1.0 - some) * 20.0 + some * one * success_us + some * (1.0 - one) * collision_us;
    Model {
        frames_per_s: some * one / slot * 1e6,
        collision: p,
    }
}

/// Throughput and collision probability of n stations, basic access and RTS.
#[test]
fn saturated_stations_follow_bianchi() {
    let (data, ack, rts_us) = (192.0 + 1536.0 * 4.0, 304.0, 352.0);
    let (sifs, difs) = (10.0, 50.0);
    println!("n rts measured_per_s bianchi deviation measured_p bianchi_p deviation");
    for rts in [false, true] {
        for n in SATURATED {
            // After a collision the others defer for EIFS = SIFS + ACK + DIFS.
            let (success, collision) = if rts {
                (
                    rts_us + 3.0 * sifs + ack + data + ack + difs,
                    rts_us + sifs + ack + difs,
                )
            } else {
                (data + sifs + ack + difs, data + sifs + ack + difs)
            };
            let model = bianchi(n as f64, success, collision);
            let found = saturated(n, rts, 300, 1);
            let (rate, p) = (found.frames_per_s, found.collisions);
            let (off, off_p) = (
                rate / model.frames_per_s - 1.0,
                if n > 1 { p / model.collision - 1.0 } else { p },
            );
            println!(
                "{n} {rts} {rate:.2} {:.2} {:+.2} % {p:.4} {:.4} {:+.2} %",
                model.frames_per_s,
                100.0 * off,
                model.collision,
                100.0 * off_p
            );
            assert!(off.abs() < 0.03, "n {n} rts {rts}: {rate} frames/s");
            assert!(off_p.abs() < 0.03, "n {n} rts {rts}: collisions {p}");
        }
    }
}
