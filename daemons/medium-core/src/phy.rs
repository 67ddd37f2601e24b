// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long frames are on the air.

use hoplab_base::Duration;

use crate::rate::Scheme;
use crate::{ldpc, Guard, Modulation, Rate, Width};

/// Which PHY's preambles and rates apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum Standard {
    /// DSSS and CCK, 1 to 11 Mbit/s (IEEE 802.11-2020 clauses 15 and 16).
    Dsss,
    /// OFDM, 6 to 54 Mbit/s (clause 17), with the 6 us signal extension in the 2.4 GHz band
    /// (18.3.2.4).
    Ofdm { signal_extension: bool },
    /// HT too, up to 40 MHz (clause 19); with the signal extension as before (19.4.4).
    Ht { signal_extension: bool },
    /// HT and VHT too, up to 160 MHz (clause 21).
    Vht { signal_extension: bool },
    /// HT, VHT and HE too (802.11ax-2021 clause 27); with the signal extension as before (27.3.13).
    He { signal_extension: bool },
    /// All those and EHT (802.11be-2024 clause 36).
    Eht { signal_extension: bool },
}

/// Timing of the PHY.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Phy {
    pub standard: Standard,
    /// DSSS frames at 2 Mbit/s and more have the short PPDU's preamble and header (16.2.2.3).
    pub short_preamble: bool,
    /// Of the long PPDU's preamble and header. The standard has 1 Mbit/s alone (16.2.2.2).
    #[cfg_attr(feature = "serde", serde(rename = "plcp_rate_mbps"))]
    pub plcp_rate: Rate,
    #[cfg_attr(feature = "serde", serde(rename = "basic_rate_mbps"))]
    pub basic_rate: Rate,
    #[cfg_attr(feature = "serde", serde(rename = "slot_ns"))]
    pub slot: Duration,
    #[cfg_attr(feature = "serde", serde(rename = "sifs_ns"))]
    pub sifs: Duration,
    pub cw_min: u32,
    pub cw_max: u32,
}

/// Times of a PPDU that several users share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub preamble: Duration,
    /// The preamble included.
    pub lasts: Duration,
}

/// aPPDUMaxTime of VHT and HE (tables 21-29, 27-54), and the longest time that the L-SIG of an HT
/// frame can express.
pub const LONGEST_PPDU: Duration = Duration::from_micros(5484);

/// Of the long PPDU: SYNC and SFD, then the header (16.2.2.2).
const LONG_PLCP_BITS: u64 = 144 + 48;
/// Of the short PPDU: 72 bits of SYNC and SFD at 1 Mbit/s, then 48 of the header at 2 (16.2.2.3).
const SHORT_SYNC: Duration = Duration::from_micros(72);
const SHORT_HEADER: Duration = Duration::from_micros(24);
/// Length of the OFDM preamble and SIGNAL field (17.3.2.1).
const OFDM_PREAMBLE: Duration = Duration::from_micros(20);
const OFDM_SYMBOL: Duration = Duration::from_micros(4);
/// With a guard interval of 400 ns.
const SHORT_SYMBOL: Duration = Duration::from_nanos(3600);
/// HT frame in mixed format, after OFDM's preamble: HT-SIG and HT-STF (19.3.9). HT-LTF follow.
const HT_PREAMBLE: Duration = Duration::from_micros(12);
/// Of a VHT frame: VHT-SIG-A, VHT-STF and VHT-SIG-B (21.3.4). VHT-LTF are between the last two.
const VHT_PREAMBLE: Duration = Duration::from_micros(16);
/// Of an HE frame to one user: RL-SIG, HE-SIG-A and HE-STF (802.11ax-2021 27.3.4, table 27-12).
/// HE-LTF follow.
const HE_PREAMBLE: Duration = Duration::from_micros(16);
/// Of an HE frame that a trigger has asked for: RL-SIG, HE-SIG-A and an HE-STF of 8 us (table 27-12).
const HE_TRIGGERED_PREAMBLE: Duration = Duration::from_micros(20);
/// HE-SIG-B of an HE frame to several users (802.11ax-2021 27.3.11.8): an allocation of each 20 or 40
/// MHz, then CRC and tail. Further fields describe two users, or the last one alone.
const SIG_B_ALLOCATION_BITS: u32 = 8;
const SIG_B_END_BITS: u32 = 4 + 6;
const SIG_B_USER_BITS: u32 = 21;
/// Data bits of its symbols, by the MCS of HE-SIG-B (table 27-106, 52 tones).
const SIG_B_SYMBOL_BITS: [u32; 6] = [26, 52, 78, 104, 156, 208];
/// EHT-SIG of an EHT frame to several users (802.11be-2024 36.3.12.8). What U-SIG has no room for comes
/// first, then allocations. Of more than 80 MHz they are two blocks, with an end each. Then come users,
/// as in HE-SIG-B.
const EHT_SIG_OVERFLOW_BITS: u32 = 17;
/// The same with the number of users of the whole channel.
const EHT_SIG_WHOLE_BITS: u32 = EHT_SIG_OVERFLOW_BITS + 3;
const EHT_SIG_ALLOCATION_BITS: u32 = 9;
const EHT_SIG_USER_BITS: u32 = 22;
/// Data bits of its symbols at its MCS 0, 1 and 3, the ones that it may have.
const EHT_SIG_SYMBOL_BITS: [u32; 3] = [26, 52, 104];
/// Of an EHT frame to one user: RL-SIG, U-SIG, EHT-SIG of 52 bits in two symbols at MCS 0, and EHT-STF
/// (802.11be-2024 36.3.4, 36.3.12.8). EHT-LTF follow.
const EHT_PREAMBLE: Duration = Duration::from_micros(24);
/// An HE- or EHT-LTF without its guard interval: type 4x with the longest interval, 2x with the others.
const HE_LONG_TRAINING: Duration = Duration::from_nanos(12_800);
const HE_SHORTER_TRAINING: Duration = Duration::from_nanos(6400);
const LONG_TRAINING: Duration = Duration::from_micros(4);
/// Service bits, and tail bits of each encoder (19.4.3, 21.4.3).
const SERVICE_BITS: u64 = 16;
const TAIL_BITS: u64 = 6;
/// Before each frame of an A-MPDU (9.7.1), which a VHT PSDU always is.
pub const DELIMITER_BYTES: usize = 4;
/// At the end of a null data packet of HE (802.11ax-2021 27.3.17).
const PACKET_EXTENSION: Duration = Duration::from_micros(4);
const SIGNAL_EXTENSION: Duration = Duration::from_micros(6);
/// Service and tail bits of an OFDM frame (17.3.2.2).
const OFDM_EXTRA_BITS: u64 = 22;

impl Standard {
    /// Whether it has this rate.
    pub fn has(self, rate: Rate) -> bool {
        match self {
            Self::Dsss => rate.is_dsss(),
            // 802.11g knows the rates of 802.11b too, 802.11a does not.
            Self::Ofdm { .. }
            | Self::Ht { .. }
            | Self::Vht { .. }
            | Self::He { .. }
            | Self::Eht { .. } => {
                match rate.modulation() {
                    // The signal extension marks the 2.4 GHz band, the only one that has DSSS.
                    Modulation::Dsss => self.extends(),
                    Modulation::Ofdm => true,
                    Modulation::Ht(_) => !matches!(self, Self::Ofdm { .. }),
                    Modulation::Vht(_) => {
                        matches!(self, Self::Vht { .. } | Self::He { .. } | Self::Eht { .. })
                    }
                    Modulation::He(_) => matches!(self, Self::He { .. } | Self::Eht { .. }),
                    Modulation::Eht(_) => matches!(self, Self::Eht { .. }),
                }
            }
        }
    }

    /// Whether frames but DSSS's end with the signal extension.
    fn extends(self) -> bool {
        match self {
            Self::Dsss => false,
            Self::Ofdm { signal_extension }
            | Self::Ht { signal_extension }
            | Self::Vht { signal_extension }
            | Self::He { signal_extension }
            | Self::Eht { signal_extension } => signal_extension,
        }
    }
}

impl Phy {
    /// Time of preamble and PLCP header of a frame at `rate`.
    pub fn preamble(&self, rate: Rate) -> Duration {
        let beyond_ofdm = match rate.modulation() {
            Modulation::Dsss if self.is_short(rate) => return SHORT_SYNC + SHORT_HEADER,
            Modulation::Dsss => {
                // `bits` counts in 500 kbit/s, so twice the bits over it are microseconds. The
                // quotient rounds to the nearest nanosecond.
                let half_bits = 2 * LONG_PLCP_BITS;
                let units = u64::from(self.header_rate(rate).bits());
                return Duration::from_nanos((half_bits * 1000 + units / 2) / units);
            }
            Modulation::Ofdm => return OFDM_PREAMBLE,
            Modulation::Ht(_) => HT_PREAMBLE,
            Modulation::Vht(_) => VHT_PREAMBLE,
            Modulation::He(_) => HE_PREAMBLE,
            Modulation::Eht(_) => EHT_PREAMBLE,
        };
        OFDM_PREAMBLE + beyond_ofdm + long_trainings(rate)
    }

    /// Time of the preamble of a frame to users with these rates (802.11ax-2021 27.3.4, 802.11be-2024
    /// 36.3.4). All of them train as the one with most streams, and HE-SIG-B or EHT-SIG goes at the
    /// lowest MCS of all. Each is on a resource unit, or has streams of his own on the whole channel.
    /// Then all train for all streams.
    pub fn shared_preamble(&self, rates: &[Rate]) -> Duration {
        let schemes = || rates.iter().filter_map(|rate| rate.scheme());
        let mcs = schemes().map(|scheme| scheme.mcs).min().unwrap_or(0);
        let width = schemes().map(|scheme| scheme.width).max();
        let is_vht = |rate: &Rate| matches!(rate.modulation(), Modulation::Vht(_));
        if rates.first().is_some_and(is_vht) {
            return OFDM_PREAMBLE + VHT_PREAMBLE + all_trainings(rates);
        }
        let (users, width) = (rates.len() as u32, width.unwrap_or(Width::Mhz20));
        let whole = schemes().all(|scheme| scheme.unit.is_none());
        let is_eht = |rate: &Rate| matches!(rate.modulation(), Modulation::Eht(_));
        let symbols = match rates.iter().any(is_eht) {
            true => eht_sig_symbols(users, width, mcs, whole),
            false => sig_b_symbols(users, width, mcs, whole),
        };
        OFDM_PREAMBLE + HE_PREAMBLE + OFDM_SYMBOL * symbols + all_trainings(rates)
    }

    /// Time of the preamble of HE or EHT frames that a trigger has asked for, at these rates. U-SIG and
    /// EHT-STF last as HE-SIG-A and HE-STF do.
    pub fn triggered_preamble(&self, rates: &[Rate]) -> Duration {
        OFDM_PREAMBLE + HE_TRIGGERED_PREAMBLE + all_trainings(rates)
    }

    /// Time on the air of a null data packet from so many antennas, of the kind of `rate` (21.3.12,
    /// 802.11ax-2021 27.3.17, 802.11be-2024 36.3.18). One of HE or EHT ends with a packet extension, and
    /// EHT-SIG has one symbol.
    pub fn null_data(&self, antennas: u8, rate: Rate) -> Duration {
        let trainings = long_training(rate) * trainings(antennas);
        let (header, end) = match rate.modulation() {
            Modulation::Vht(_) => (VHT_PREAMBLE, Duration::ZERO),
            Modulation::Eht(_) => (HE_PREAMBLE + OFDM_SYMBOL, PACKET_EXTENSION),
            _ => (HE_PREAMBLE, PACKET_EXTENSION),
        };
        OFDM_PREAMBLE + header + trainings + end + self.extension()
    }

    /// Time on the air of a VHT or HE frame with this preamble, in which each user has a PSDU of so
    /// many octets. All are padded to the longest (21.3.10.1, 802.11ax-2021 27.3.12.5.4).
    pub fn shared_duration(
        &self,
        preamble: Duration,
        users: impl Iterator<Item = (usize, Rate)> + Clone,
    ) -> Duration {
        let vht = users
            .clone()
            .filter_map(|(bytes, rate)| vht_symbols(bytes, rate));
        if let Some(lasts) = vht.max() {
            return preamble + lasts + self.extension();
        }
        let users = users.filter_map(|(bytes, rate)| Some((bytes, rate.scheme()?)));
        let bits = |(bytes, scheme)| (8 * bytes as u64 + SERVICE_BITS, scheme);
        let lasts = |(_, scheme): (usize, Scheme)| scheme.he_symbol_lasts();
        let symbol = users.clone().map(lasts).max().unwrap_or_default();
        preamble + symbol * ldpc::symbols(users.map(bits)) + self.extension()
    }

    /// Whether a frame at `rate` is a short PPDU. At 1 Mbit/s none is (16.2.2.3).
    pub fn is_short(&self, rate: Rate) -> bool {
        self.short_preamble && rate.is_dsss() && rate > Rate::DSSS_1
    }

    /// How long a frame at `rate` begins at 1 Mbit/s before a header that has another rate.
    pub fn sync(&self, rate: Rate) -> Duration {
        if self.is_short(rate) {
            SHORT_SYNC
        } else {
            Duration::ZERO
        }
    }

    /// Rate at which the header of a frame at `rate` is sent.
    pub fn header_rate(&self, rate: Rate) -> Rate {
        if self.is_short(rate) {
            return Rate::DSSS_2;
        }
        match (rate.is_dsss(), self.plcp_rate.is_dsss()) {
            (false, _) => Rate::OFDM_6,
            (true, true) => self.plcp_rate,
            // In an 802.11g network DSSS frames have 802.11b's own header.
            (true, false) => Rate::DSSS_1,
        }
    }

    /// The same, cut to the whole symbols of so much time at most.
    pub fn shared_within(
        &self,
        most: Duration,
        preamble: Duration,
        users: impl Iterator<Item = (usize, Rate)> + Clone,
    ) -> Duration {
        let lasts = self.shared_duration(preamble, users.clone());
        let schemes = users.filter_map(|(_, rate)| rate.scheme());
        let symbol = schemes.map(Scheme::he_symbol_lasts).max();
        match symbol {
            Some(symbol) if lasts > most => {
                let room = most - preamble - self.extension();
                preamble + symbol * (room / symbol) + self.extension()
            }
            _ => lasts,
        }
    }

    /// LENGTH in the L-SIG of an HE frame that a trigger has asked for, which lasts so long
    /// (802.11ax-2021 27.3.11.5, with m = 2).
    pub fn triggered_length(&self, lasts: Duration) -> u16 {
        let rest = lasts - self.extension() - OFDM_PREAMBLE;
        let symbols = rest.as_nanos().div_ceil(OFDM_SYMBOL.as_nanos());
        (3 * symbols).saturating_sub(3 + 2).min(0xfff) as u16
    }

    /// Time on the air of one frame of `bytes` (MAC header to FCS) at `rate`.
    pub fn duration(&self, bytes: usize, rate: Rate) -> Duration {
        let delimiter = match rate.modulation() {
            Modulation::Vht(_) | Modulation::He(_) | Modulation::Eht(_) => DELIMITER_BYTES,
            _ => 0,
        };
        self.psdu_duration(bytes + delimiter, rate)
    }

    /// Time on the air of a PSDU of `bytes`, delimiters and padding of an A-MPDU included.
    pub fn psdu_duration(&self, bytes: usize, rate: Rate) -> Duration {
        let preamble = self.preamble(rate);
        let user = (bytes, rate);
        let (bytes, a_symbol) = (bytes as u64, u64::from(rate.bits()));
        let (bits, short) = match rate.modulation() {
            Modulation::Dsss => {
                // The PLCP header gives the length in whole microseconds (16.3.4).
                return preamble + Duration::from_micros((2 * 8 * bytes).div_ceil(a_symbol));
            }
            Modulation::Ofdm => (OFDM_EXTRA_BITS + 8 * bytes, false),
            // HT needs one encoder for up to two streams.
            Modulation::Ht(scheme) => {
                (8 * bytes + SERVICE_BITS + TAIL_BITS, is_short_guard(scheme))
            }
            // LDPC has no tail, and hwsim's radios need no packet extension (27.3.13).
            Modulation::Vht(_) | Modulation::He(_) | Modulation::Eht(_) => {
                return self.shared_duration(preamble, core::iter::once(user));
            }
        };
        preamble + symbols(bits, a_symbol, short) + self.extension()
    }

    fn extension(&self) -> Duration {
        match self.standard.extends() {
            true => SIGNAL_EXTENSION,
            false => Duration::ZERO,
        }
    }
}

fn is_short_guard(scheme: Scheme) -> bool {
    scheme.guard == Guard::Ns400
}

/// Time of so many bits, with so many a symbol. They are padded to whole symbols (17.4.3). All short
/// ones together end with one of 4 us (19.4.3). Integers avoid a further symbol by rounding.
fn symbols(bits: u64, a_symbol: u64, short: bool) -> Duration {
    let symbols = bits.div_ceil(a_symbol);
    let symbols = if short {
        (SHORT_SYMBOL * symbols)
            .as_nanos()
            .div_ceil(OFDM_SYMBOL.as_nanos())
    } else {
        symbols
    };
    OFDM_SYMBOL * symbols
}

/// Of a PSDU of VHT; none at other rates.
fn vht_symbols(bytes: usize, rate: Rate) -> Option<Duration> {
    let Modulation::Vht(scheme) = rate.modulation() else {
        return None;
    };
    let tails = TAIL_BITS * u64::from(scheme.encoders(rate.bits()));
    let bits = 8 * bytes as u64 + SERVICE_BITS + tails;
    Some(symbols(bits, rate.bits().into(), is_short_guard(scheme)))
}

/// Symbols of HE-SIG-B. Each 20 MHz has it, beyond the first in one of two contents by turns, which
/// share the users (802.11ax-2021 27.3.11.8). Users who all have the `whole` channel need no allocation
/// (27.3.11.8.2: compressed).
fn sig_b_symbols(users: u32, width: Width, mcs: u8, whole: bool) -> u64 {
    let (contents, allocations) = match width.mhz() {
        20 => (1, 1),
        mhz => (2, u32::from(mhz) / 40),
    };
    // From 80 MHz on a bit tells of the unit in the middle.
    let middle = u32::from(allocations > 1);
    let users = users.div_ceil(contents);
    let blocks = users.div_ceil(2);
    let common = match whole {
        true => 0,
        false => SIG_B_ALLOCATION_BITS * allocations + middle + SIG_B_END_BITS,
    };
    let bits = common + SIG_B_USER_BITS * users + SIG_B_END_BITS * blocks;
    let mcs = usize::from(mcs).min(SIG_B_SYMBOL_BITS.len() - 1);
    u64::from(bits.div_ceil(SIG_B_SYMBOL_BITS[mcs]))
}

/// Symbols of EHT-SIG to several users (802.11be-2024 36.3.12.8), in one or two contents as HE-SIG-B.
/// Those are taken for the same in each 80 MHz. Users who all have the `whole` channel need no
/// allocation but their number, and the first one stands beside that.
fn eht_sig_symbols(users: u32, width: Width, mcs: u8, whole: bool) -> u64 {
    let (contents, allocations, further) = match width {
        Width::Mhz20 => (1, 1, 0),
        Width::Mhz40 => (2, 1, 0),
        Width::Mhz80 => (2, 2, 0),
        Width::Mhz160 => (2, 2, 2),
        Width::Mhz320 => (2, 2, 6),
    };
    let common = |allocations: u32| match allocations {
        0 => 0,
        some => EHT_SIG_ALLOCATION_BITS * some + SIG_B_END_BITS,
    };
    let users = users.div_ceil(contents);
    let described = |users: u32| EHT_SIG_USER_BITS * users + SIG_B_END_BITS * users.div_ceil(2);
    let bits = match whole {
        true => EHT_SIG_WHOLE_BITS + described(1) + described(users.saturating_sub(1)),
        false => EHT_SIG_OVERFLOW_BITS + common(allocations) + common(further) + described(users),
    };
    let a_symbol = match mcs {
        0 => EHT_SIG_SYMBOL_BITS[0],
        1 | 2 => EHT_SIG_SYMBOL_BITS[1],
        _ => EHT_SIG_SYMBOL_BITS[2],
    };
    u64::from(bits.div_ceil(a_symbol))
}

/// How many long training fields so many streams have (tables 19-13 and 21-13).
fn trainings(streams: u8) -> u64 {
    match streams {
        0 | 1 => 1,
        more => u64::from(more).next_multiple_of(2),
    }
}

/// All of one user.
fn long_trainings(rate: Rate) -> Duration {
    long_training(rate) * trainings(rate.streams())
}

/// All of several users: those of the one with most streams, if each has a resource unit. On the whole
/// channel there is one for each stream.
fn all_trainings(rates: &[Rate]) -> Duration {
    let has_unit = |rate: &Rate| rate.scheme().is_some_and(|scheme| scheme.unit.is_some());
    let streams = rates.iter().map(|rate| rate.streams());
    let streams = match rates.iter().all(has_unit) {
        true => streams.max().unwrap_or_default(),
        false => streams.fold(0, u8::saturating_add),
    };
    let training = rates.iter().map(|rate| long_training(*rate)).max();
    training.unwrap_or_default() * trainings(streams)
}

/// A long training field, guard interval included.
fn long_training(rate: Rate) -> Duration {
    match rate.modulation() {
        Modulation::He(scheme) | Modulation::Eht(scheme) => {
            let training = match scheme.guard {
                Guard::Ns3200 => HE_LONG_TRAINING,
                _ => HE_SHORTER_TRAINING,
            };
            training + scheme.guard.lasts()
        }
        _ => LONG_TRAINING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Width::{self, Mhz20, Mhz40, Mhz80};

    fn micros(signal_extension: bool, bytes: usize, rate: Option<Rate>) -> u64 {
        let phy = Phy {
            standard: Standard::Vht { signal_extension },
            plcp_rate: Rate::OFDM_6,
            basic_rate: Rate::OFDM_6,
            ..crate::Params::default().phy
        };
        let lasts = phy.duration(bytes, rate.expect("a rate"));
        assert_eq!(lasts.as_nanos() % 1000, 0);
        lasts.as_nanos() / 1000
    }

    /// Microseconds of 161 octets in 802.11b and 802.11g, by the PPDUs of 16.2.2.2 and 16.2.2.3.
    #[test]
    fn a_short_ppdu_saves_96_us_from_2_mbit_s_on_and_nothing_at_1() {
        let dsss = (Standard::Dsss, Rate::DSSS_1);
        let mixed = Standard::Ofdm {
            signal_extension: true,
        };
        for (standard, plcp_rate) in [dsss, (mixed, Rate::OFDM_6)] {
            for (rate, data) in [
                (Rate::DSSS_1, 1288),
                (Rate::DSSS_2, 644),
                (Rate::CCK_5_5, 235),
                (Rate::CCK_11, 118),
            ] {
                for short_preamble in [false, true] {
                    let phy = Phy {
                        standard,
                        plcp_rate,
                        short_preamble,
                        ..crate::Params::default().phy
                    };
                    let is_short = short_preamble && rate != Rate::DSSS_1;
                    let plcp = if is_short { 72 + 24 } else { 144 + 48 };
                    let lasts = Duration::from_micros(plcp + data);
                    assert_eq!(phy.duration(161, rate), lasts, "{standard:?} {rate}");
                    let header = if is_short { Rate::DSSS_2 } else { Rate::DSSS_1 };
                    assert_eq!(phy.header_rate(rate), header);
                }
            }
        }
    }

    /// By hand from 27.3.11.8: users a content channel, bits, and symbols of 26 to 208 bits.
    #[test]
    fn sig_b_is_as_long_as_its_users_fields() {
        use Width::Mhz160;
        for (users, width, mcs, symbols) in [
            // 8 + 10 + 52 = 70.
            (2, Mhz20, 0, 3),
            (2, Mhz20, 5, 1),
            (2, Mhz20, 11, 1),
            // 8 + 10 + 4 x 52 + 31 = 257.
            (9, Mhz20, 0, 10),
            (9, Mhz20, 5, 2),
            // One user in each: 8 + 10 + 31 = 49.
            (2, Mhz40, 0, 2),
            // Eight in each: 2 x 8 + 1 + 10 + 4 x 52 = 235.
            (16, Mhz80, 0, 10),
            (16, Mhz80, 5, 2),
            // 19 in one: 2 x 8 + 1 + 10 + 9 x 52 + 31 = 526.
            (37, Mhz80, 5, 3),
            // 4 x 8 + 1 + 10 + 52 = 95.
            (4, Mhz160, 0, 4),
        ] {
            assert_eq!(
                sig_b_symbols(users, width, mcs, false),
                symbols,
                "{users} {width:?} {mcs}"
            );
        }
    }

    /// Users on the whole channel need no allocation: 52 bits of two, 31 of one.
    #[test]
    fn sig_b_of_the_whole_channel_has_users_alone() {
        for (users, width, mcs, symbols) in [
            (2, Mhz20, 0, 2),
            (4, Mhz20, 5, 1),
            (8, Mhz20, 5, 1),
            // 52 + 31 and 26 a symbol.
            (3, Mhz20, 0, 4),
            // Two in each content.
            (4, Mhz80, 0, 2),
            (8, Mhz80, 5, 1),
        ] {
            let found = sig_b_symbols(users, width, mcs, true);
            assert_eq!(found, symbols, "{users} {width:?} {mcs}");
        }
    }

    /// By hand from 36.3.12.8. There are 17 bits, 9 for each allocation, and 10 at the end of each block
    /// of them. Each user has 22, and each pair of users 10.
    #[test]
    fn eht_sig_is_as_long_as_its_users_fields() {
        use Width::{Mhz160, Mhz320};
        for (users, width, mcs, symbols) in [
            // 17 + 19 + 54 = 90.
            (2, Mhz20, 0, 4),
            (2, Mhz20, 2, 2),
            (2, Mhz20, 13, 1),
            // One in each content: 17 + 19 + 32 = 68.
            (2, Mhz40, 3, 1),
            // Two in each: 17 + 28 + 54 = 99. Eight: 17 + 28 + 216 = 261.
            (4, Mhz80, 5, 1),
            (16, Mhz80, 5, 3),
            // 17 + 28 + 28 + 54 = 127.
            (4, Mhz160, 0, 5),
            // 17 + 28 + 64 + 216 = 325.
            (16, Mhz320, 13, 4),
        ] {
            let found = eht_sig_symbols(users, width, mcs, false);
            assert_eq!(found, symbols, "{users} {width:?} {mcs}");
        }
        for (users, width, mcs, symbols) in [
            // 20 and 32 bits of the first user, then 32 of one or 54 of two.
            (2, Mhz20, 0, 4),
            (3, Mhz20, 1, 3),
            (4, Mhz20, 13, 2),
            // One in each content, as of an EHT frame to one user.
            (2, Mhz80, 0, 2),
            // Four in each: 52 + 54 + 32 = 138.
            (8, Mhz320, 5, 2),
        ] {
            let found = eht_sig_symbols(users, width, mcs, true);
            assert_eq!(found, symbols, "{users} {width:?} {mcs} whole");
        }
    }

    /// Three users train as four: 36 us and 16, then as many symbols of 260 bits as the longest needs.
    #[test]
    fn users_of_vht_last_as_the_longest() {
        let phy = Phy {
            standard: Standard::Vht {
                signal_extension: false,
            },
            ..crate::Params::default().phy
        };
        for (short, symbols_us) in [(false, 47 * 4), (true, 43 * 4)] {
            let rate = Rate::vht(7, 1, Mhz20, short).expect("a VHT rate");
            let preamble = phy.shared_preamble(&[rate; 3]);
            assert_eq!(preamble, Duration::from_micros(36 + 16));
            // 12,022 bits are 47 symbols, or 169.2 us of short ones.
            let users = [(1500, rate), (40, rate), (900, rate)];
            let lasts = phy.shared_duration(preamble, users.into_iter());
            assert_eq!(lasts - preamble, Duration::from_micros(symbols_us));
        }
        // Four antennas send a null data packet of four fields; that of HE ends with 4 us.
        let vht = Rate::vht(7, 1, Mhz20, false).expect("a VHT rate");
        let he = Rate::he(7, 1, Mhz20, Guard::Ns800).expect("an HE rate");
        assert_eq!(phy.null_data(4, vht), Duration::from_micros(36 + 16));
        assert_eq!(
            phy.null_data(4, he),
            Duration::from_nanos(36_000 + 28_800 + 4000)
        );
        assert_eq!(phy.null_data(7, vht), phy.null_data(8, vht));
    }

    /// Two users at MCS 5 on 106 tones, 408 data bits a symbol. One symbol of HE-SIG-B follows 36 us,
    /// then one HE-LTF of 7.2 us and symbols of 13.6 us.
    #[test]
    fn users_beside_each_other_last_as_the_longest() {
        let phy = Phy {
            standard: Standard::He {
                signal_extension: false,
            },
            ..crate::Params::default().phy
        };
        let whole = Rate::he(5, 1, Mhz20, Guard::Ns800).expect("an HE rate");
        let rate = whole.within(crate::Unit::Tones106).expect("a unit");
        let preamble = phy.shared_preamble(&[rate, rate]);
        assert_eq!(preamble.as_nanos(), 36_000 + 4000 + 7200);
        // 12,016 bits are 30 symbols, the last one filled to three parts.
        let lasts = phy.shared_duration(preamble, [(1500, rate), (40, rate)].into_iter());
        assert_eq!((lasts - preamble).as_nanos(), 30 * 13_600);
        assert_eq!(phy.triggered_preamble(&[rate]).as_nanos(), 40_000 + 7200);
        // 20 symbols of 4 us follow the first 20 us.
        assert_eq!(
            phy.triggered_length(Duration::from_nanos(99_200)),
            3 * 20 - 5
        );
    }

    /// 1538 bytes: 12304 bits, 16 of service, 6 of tail for each encoder, over N_DBPS.
    #[test]
    fn ht_lasts_as_19_4_3_says() {
        let of = |index, width: Width, short| micros(false, 1538, Rate::ht(index, width, short));
        // 260 bits a symbol: 48 symbols after 36 us.
        assert_eq!(of(7, Mhz20, false), 36 + 48 * 4);
        // 48 times 3.6 us are 172.8 us, which end with the 44th symbol of 4 us.
        assert_eq!(of(7, Mhz20, true), 36 + 44 * 4);
        // 1080 bits a symbol, two long training fields.
        assert_eq!(of(15, Mhz40, false), 40 + 12 * 4);
        assert_eq!(of(15, Mhz40, true), 40 + 11 * 4);
        let extended = micros(true, 1538, Rate::ht(7, Mhz20, false));
        assert_eq!(extended, 36 + 48 * 4 + 6);
    }

    /// As HT, with 4 bytes of delimiter: 12336 bits.
    #[test]
    fn vht_lasts_as_21_4_3_says() {
        let of = |mcs, streams, short| micros(false, 1538, Rate::vht(mcs, streams, Mhz80, short));
        // 1560 bits a symbol: 8 after 40 us.
        assert_eq!(of(9, 1, false), 40 + 8 * 4);
        assert_eq!(of(9, 1, true), 40 + 8 * 4);
        // 3120 bits a symbol and two encoders.
        assert_eq!(of(9, 2, false), 44 + 4 * 4);
        // 117 bits a symbol: 106 symbols, of which 381.6 us are 96 of 4 us.
        assert_eq!(of(0, 1, true), 40 + 96 * 4);
        // Three streams train as four do.
        assert_eq!(of(0, 3, false) - 36 * 4, of(0, 4, false) - 27 * 4);
    }
}
