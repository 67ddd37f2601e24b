// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rates of IEEE 802.11, as values that can be compared.

use core::fmt;

use hoplab_base::Duration;

use crate::{Punctured, Subchannels, Unit};

/// Width of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "u16"))]
pub enum Width {
    Mhz20,
    Mhz40,
    Mhz80,
    Mhz160,
    /// Of EHT alone.
    Mhz320,
}

/// In MHz, as a document has it.
impl TryFrom<u16> for Width {
    type Error = &'static str;

    fn try_from(mhz: u16) -> Result<Self, Self::Error> {
        let found = Self::ALL.into_iter().find(|width| width.mhz() == mhz);
        found.ok_or("expected 20, 40, 80, 160 or 320 MHz")
    }
}

impl Width {
    pub const ALL: [Self; 5] = [
        Self::Mhz20,
        Self::Mhz40,
        Self::Mhz80,
        Self::Mhz160,
        Self::Mhz320,
    ];

    pub fn mhz(self) -> u16 {
        match self {
            Self::Mhz20 => 20,
            Self::Mhz40 => 40,
            Self::Mhz80 => 80,
            Self::Mhz160 => 160,
            Self::Mhz320 => 320,
        }
    }

    /// Of 20 MHz.
    pub fn subchannels(self) -> u16 {
        self.mhz() / Self::Mhz20.mhz()
    }

    /// Subcarriers that carry data (IEEE 802.11-2020 tables 19-6 and 21-5).
    fn data_tones(self) -> u32 {
        match self {
            Self::Mhz20 => 52,
            Self::Mhz40 => 108,
            Self::Mhz80 => 234,
            Self::Mhz160 => 468,
            // HT and VHT have no such channel.
            Self::Mhz320 => 0,
        }
    }

    /// Those of HE and EHT, whose subcarriers are four times as close. They are of the resource units
    /// of 242, 484, 996, twice and four times 996 tones (IEEE 802.11ax-2021 table 27-15, 802.11be-2024
    /// table 36-19).
    fn he_data_tones(self) -> u32 {
        match self {
            Self::Mhz20 => 234,
            Self::Mhz40 => 468,
            Self::Mhz80 => 980,
            Self::Mhz160 => 1960,
            Self::Mhz320 => 3920,
        }
    }

    /// Theirs in each of the parts by which the last symbol is filled (802.11ax-2021 table 27-32,
    /// 802.11be-2024 table 36-47: N_SD,short).
    fn he_short_tones(self) -> u32 {
        match self {
            Self::Mhz20 => 60,
            Self::Mhz40 => 120,
            Self::Mhz80 => 240,
            Self::Mhz160 => 492,
            Self::Mhz320 => 984,
        }
    }
}

/// Guard interval before a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guard {
    /// The short one of HT and VHT.
    Ns400,
    /// The long one of HT and VHT, the shortest of HE.
    Ns800,
    Ns1600,
    Ns3200,
}

impl Guard {
    pub fn lasts(self) -> Duration {
        Duration::from_nanos(match self {
            Self::Ns400 => 400,
            Self::Ns800 => 800,
            Self::Ns1600 => 1600,
            Self::Ns3200 => 3200,
        })
    }
}

/// Parameters of an HT, a VHT, an HE or an EHT rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scheme {
    /// Modulation and code of each stream, as EHT numbers them: 0 is BPSK 1/2, 13 is 4096-QAM 5/6.
    pub mcs: u8,
    pub streams: u8,
    pub width: Width,
    pub guard: Guard,
    /// Subchannels that EHT leaves out.
    pub punctured: Punctured,
    /// The part of the channel that is one user's of several; none of a user with all of it.
    pub unit: Option<Unit>,
}

/// Rate of a code, convolutional or LDPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Half,
    TwoThirds,
    ThreeQuarters,
    FiveSixths,
}

impl Code {
    /// Bits in and bits out.
    pub fn ratio(self) -> (u32, u32) {
        match self {
            Self::Half => (1, 2),
            Self::TwoThirds => (2, 3),
            Self::ThreeQuarters => (3, 4),
            Self::FiveSixths => (5, 6),
        }
    }
}

/// Bits on a subcarrier and code of each MCS (tables 19-27 and 21-29, 802.11ax's 27-111, and
/// 802.11be's 36-71).
const SCHEMES: [(u32, Code); 14] = [
    (1, Code::Half),
    (2, Code::Half),
    (2, Code::ThreeQuarters),
    (4, Code::Half),
    (4, Code::ThreeQuarters),
    (6, Code::TwoThirds),
    (6, Code::ThreeQuarters),
    (6, Code::FiveSixths),
    (8, Code::ThreeQuarters),
    (8, Code::FiveSixths),
    (10, Code::ThreeQuarters),
    (10, Code::FiveSixths),
    (12, Code::ThreeQuarters),
    (12, Code::FiveSixths),
];
/// Data bits a symbol from which on VHT's tables have a second encoder: 540 Mbit/s.
const BITS_OF_ENCODER: u32 = 2160;

impl Scheme {
    /// Bits on a subcarrier, and code.
    pub fn constellation(self) -> (u32, Code) {
        SCHEMES[usize::from(self.mcs)]
    }

    /// Convolutional encoders of VHT (N_ES).
    pub fn encoders(self, bits: u32) -> u32 {
        bits.div_ceil(BITS_OF_ENCODER)
    }

    /// Data bits a symbol of HT and VHT (N_DBPS). None if an encoder would get a part of a bit or
    /// of a puncturing pattern. The tables of 21.5 leave such combinations out.
    fn bits(self) -> Option<u32> {
        let (on_tone, code) = *SCHEMES[..VHT_SCHEMES].get(usize::from(self.mcs))?;
        let (numerator, denominator) = code.ratio();
        let coded = self.width.data_tones() * on_tone * u32::from(self.streams);
        let bits = coded * numerator / denominator;
        let encoders = self.encoders(bits);
        (bits > 0 && coded % (denominator * encoders) == 0).then_some(bits)
    }

    /// Data bits a symbol of HE and EHT, where one of them has the rate.
    fn he_bits(self) -> Option<u32> {
        let is_one = (1..=MOST_STREAMS).contains(&self.streams) && self.guard != Guard::Ns400;
        let coded = self.coded(self.he_data_tones()).filter(|_| is_one)?;
        Some(self.uncoded(coded))
    }

    fn he_data_tones(self) -> u32 {
        let of_channel = || match self.punctured.is_none() {
            true => self.width.he_data_tones(),
            false => self.punctured.data_tones(self.width),
        };
        self.unit.map_or_else(of_channel, Unit::data_tones)
    }

    fn he_short_tones(self) -> u32 {
        let of_channel = || match self.punctured.is_none() {
            true => self.width.he_short_tones(),
            false => self.punctured.short_tones(self.width),
        };
        self.unit.map_or_else(of_channel, Unit::short_tones)
    }

    /// How long a symbol of HE lasts, guard interval included.
    pub(crate) fn he_symbol_lasts(self) -> Duration {
        HE_SYMBOL + self.guard.lasts()
    }

    /// Coded bits of so many subcarriers.
    fn coded(self, tones: u32) -> Option<u32> {
        let (on_tone, _) = *SCHEMES.get(usize::from(self.mcs))?;
        Some(tones * on_tone * u32::from(self.streams))
    }

    /// Data bits of so many coded ones, whole (802.11ax 27.3.12.5.1).
    fn uncoded(self, coded: u32) -> u32 {
        let (numerator, denominator) = self.constellation().1.ratio();
        coded * numerator / denominator
    }

    /// Coded and data bits of a whole HE symbol, and of a part of its last symbol.
    pub(crate) fn he_symbol(self) -> HeSymbol {
        let coded = |tones| self.coded(tones).unwrap_or_default();
        let (coded, coded_short) = (coded(self.he_data_tones()), coded(self.he_short_tones()));
        HeSymbol {
            coded,
            data: self.uncoded(coded),
            coded_short,
            data_short: self.uncoded(coded_short),
        }
    }
}

/// Bits of a symbol of HE (N_CBPS, N_DBPS, N_CBPS,short, N_DBPS,short).
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeSymbol {
    pub coded: u32,
    pub data: u32,
    pub coded_short: u32,
    pub data_short: u32,
}

/// How bits become signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Modulation {
    /// DSSS and CCK (IEEE 802.11-2020 clauses 15 and 16).
    Dsss,
    /// OFDM on 20 MHz (clause 17).
    Ofdm,
    /// High throughput, equal modulation on all streams, mixed format (clause 19).
    Ht(Scheme),
    /// Very high throughput (clause 21).
    Vht(Scheme),
    /// High efficiency, to one user (802.11ax-2021 clause 27: HE SU), with LDPC.
    He(Scheme),
    /// Extremely high throughput, to one user (802.11be-2024 clause 36: EHT MU), with LDPC.
    Eht(Scheme),
}

/// A rate that the standard has. The order is that of bits a symbol. It ranks speeds only if
/// symbols last equally long, as among OFDM rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "f64"))]
pub struct Rate {
    /// Data bits of a symbol. DSSS counts them in 2 us, in the units of 500 kbit/s of the Supported
    /// Rates element (9.4.2.3).
    bits: u32,
    modulation: Modulation,
}

const fn dsss(bits: u32) -> Rate {
    Rate {
        bits,
        modulation: Modulation::Dsss,
    }
}

const fn ofdm(bits: u32) -> Rate {
    Rate {
        bits,
        modulation: Modulation::Ofdm,
    }
}

/// HT's streams that are modelled; hwsim has no more.
const MOST_HT_STREAMS: u8 = 2;
/// VHT's and HE's. The kernel's rate control uses no more of VHT.
const MOST_STREAMS: u8 = 4;
/// MCS of one stream of HT, of VHT, and of HE.
const HT_SCHEMES: u8 = 8;
const VHT_SCHEMES: usize = 10;
const HE_SCHEMES: u8 = 12;
/// Of a symbol of HE and EHT (T_DFT,HE).
const HE_SYMBOL: Duration = Duration::from_nanos(12_800);

/// Of HT and VHT.
fn guard(short: bool) -> Guard {
    if short {
        Guard::Ns400
    } else {
        Guard::Ns800
    }
}

/// In Mbit/s, as a document has it.
#[cfg(feature = "serde")]
impl TryFrom<f64> for Rate {
    type Error = &'static str;

    fn try_from(mbps: f64) -> Result<Self, Self::Error> {
        Self::from_mbps(mbps).ok_or("expected a rate before HT in Mbit/s")
    }
}

impl Rate {
    pub const DSSS_1: Self = dsss(2);
    pub const DSSS_2: Self = dsss(4);
    pub const CCK_5_5: Self = dsss(11);
    pub const CCK_11: Self = dsss(22);
    pub const OFDM_6: Self = ofdm(24);
    pub const OFDM_9: Self = ofdm(36);
    pub const OFDM_12: Self = ofdm(48);
    pub const OFDM_18: Self = ofdm(72);
    pub const OFDM_24: Self = ofdm(96);
    pub const OFDM_36: Self = ofdm(144);
    pub const OFDM_48: Self = ofdm(192);
    pub const OFDM_54: Self = ofdm(216);

    /// Before HT: DSSS and CCK, then OFDM, each in order of speed.
    pub const LEGACY: [Self; 12] = [
        Self::DSSS_1,
        Self::DSSS_2,
        Self::CCK_5_5,
        Self::CCK_11,
        Self::OFDM_6,
        Self::OFDM_9,
        Self::OFDM_12,
        Self::OFDM_18,
        Self::OFDM_24,
        Self::OFDM_36,
        Self::OFDM_48,
        Self::OFDM_54,
    ];

    /// The rate before HT of so many Mbit/s, as configurations name it.
    pub fn from_mbps(mbps: f64) -> Option<Self> {
        // Multiples of 500 kbit/s are exact in floating point.
        Self::LEGACY.into_iter().find(|rate| rate.mbps() == mbps)
    }

    /// HT's rate of this index (19.5): 0 to 7 of one stream, 8 to 15 of two.
    pub fn ht(index: u8, width: Width, short_guard: bool) -> Option<Self> {
        let scheme = Scheme {
            mcs: index % HT_SCHEMES,
            streams: index / HT_SCHEMES + 1,
            width,
            guard: guard(short_guard),
            punctured: Punctured::NONE,
            unit: None,
        };
        let is_one = scheme.streams <= MOST_HT_STREAMS && width <= Width::Mhz40;
        let bits = scheme.bits().filter(|_| is_one)?;
        Some(Self {
            bits,
            modulation: Modulation::Ht(scheme),
        })
    }

    /// VHT's rate, where 21.5 has it.
    pub fn vht(mcs: u8, streams: u8, width: Width, short_guard: bool) -> Option<Self> {
        let scheme = Scheme {
            mcs,
            streams,
            width,
            guard: guard(short_guard),
            punctured: Punctured::NONE,
            unit: None,
        };
        let is_one = (1..=MOST_STREAMS).contains(&streams);
        let bits = is_one.then(|| scheme.bits()).flatten()?;
        Some(Self {
            bits,
            modulation: Modulation::Vht(scheme),
        })
    }

    /// HE's rate, where 27.5 has it: with every guard interval but HT's short one.
    pub fn he(mcs: u8, streams: u8, width: Width, guard: Guard) -> Option<Self> {
        let scheme = Scheme {
            mcs,
            streams,
            width,
            guard,
            punctured: Punctured::NONE,
            unit: None,
        };
        let is_one = mcs < HE_SCHEMES && width <= Width::Mhz160;
        let bits = scheme.he_bits().filter(|_| is_one)?;
        Some(Self {
            bits,
            modulation: Modulation::He(scheme),
        })
    }

    /// EHT's rate (802.11be-2024 36.5): as HE, and with 4096-QAM, and on 320 MHz. On a channel with
    /// punctured subchannels it has the rest.
    pub fn eht(
        mcs: u8,
        streams: u8,
        channel: impl Into<Subchannels>,
        guard: Guard,
    ) -> Option<Self> {
        let channel = channel.into();
        let scheme = Scheme {
            mcs,
            streams,
            width: channel.width,
            guard,
            punctured: channel.punctured,
            unit: None,
        };
        Some(Self {
            bits: scheme.he_bits()?,
            modulation: Modulation::Eht(scheme),
        })
    }

    pub fn mbps(self) -> f64 {
        let bits = f64::from(self.bits);
        match self.modulation {
            // Bits over the length of a symbol in us. The short guard interval makes it 3.6 us.
            Modulation::Dsss => bits / 2.0,
            Modulation::Ofdm => bits / 4.0,
            Modulation::Ht(scheme) | Modulation::Vht(scheme) if scheme.guard == Guard::Ns400 => {
                bits / 3.6
            }
            Modulation::Ht(_) | Modulation::Vht(_) => bits / 4.0,
            Modulation::He(scheme) | Modulation::Eht(scheme) => {
                1000.0 * bits / scheme.he_symbol_lasts().as_nanos() as f64
            }
        }
    }

    /// In units of 500 kbit/s, where it is a whole number of them that an octet holds: the rates
    /// before HT.
    pub fn units(self) -> Option<u8> {
        match self.modulation {
            Modulation::Dsss => Some(self.bits as u8),
            Modulation::Ofdm => Some((self.bits / 2) as u8),
            Modulation::Ht(_) | Modulation::Vht(_) | Modulation::He(_) | Modulation::Eht(_) => None,
        }
    }

    /// Data bits of a symbol; of DSSS, of 2 us.
    pub(crate) fn bits(self) -> u32 {
        self.bits
    }

    pub fn modulation(self) -> Modulation {
        self.modulation
    }

    pub fn is_dsss(self) -> bool {
        self.modulation == Modulation::Dsss
    }

    /// Of HT, VHT, HE and EHT.
    pub fn scheme(self) -> Option<Scheme> {
        match self.modulation {
            Modulation::Ht(scheme)
            | Modulation::Vht(scheme)
            | Modulation::He(scheme)
            | Modulation::Eht(scheme) => Some(scheme),
            Modulation::Dsss | Modulation::Ofdm => None,
        }
    }

    pub fn streams(self) -> u8 {
        self.scheme().map_or(1, |scheme| scheme.streams)
    }

    /// Of the channel that it takes.
    pub fn width(self) -> Width {
        self.scheme().map_or(Width::Mhz20, |scheme| scheme.width)
    }

    /// The subchannels of its channel, as if the lowest were the primary one.
    pub(crate) fn subchannels(self) -> Subchannels {
        let punctured = self.scheme().map(|scheme| scheme.punctured);
        Subchannels {
            punctured: punctured.unwrap_or_default(),
            ..self.width().into()
        }
    }

    /// How much wider its channel is than 20 MHz, and so how much more noise comes in.
    pub(crate) fn widening(self) -> f64 {
        let channel = self.subchannels();
        f64::from(channel.width.subchannels() - channel.punctured.count())
    }

    /// The same on no more than this channel, with the next lower MCS where that has none. EHT leaves
    /// its punctured subchannels out.
    pub fn at_most(self, channel: impl Into<Subchannels>) -> Self {
        let Some(scheme) = self.scheme() else {
            return self;
        };
        let punctures = matches!(self.modulation, Modulation::Eht(_));
        let part = channel.into().widest(scheme.width, punctures);
        match part.width < scheme.width || part.punctured != scheme.punctured {
            true => self.over(part),
            false => self,
        }
    }

    /// The same on this channel, with the next lower MCS where that has none. A rate before HT has
    /// no width.
    pub fn over(self, channel: impl Into<Subchannels>) -> Self {
        let Some(scheme) = self.scheme() else {
            return self;
        };
        let channel = channel.into();
        let width = channel.width;
        let (streams, short_guard) = (scheme.streams, scheme.guard == Guard::Ns400);
        let narrow = |mcs| match self.modulation {
            Modulation::Ht(_) => Self::ht(mcs + (streams - 1) * HT_SCHEMES, width, short_guard),
            Modulation::He(_) => Self::he(mcs, streams, width, scheme.guard),
            Modulation::Eht(_) => Self::eht(mcs, streams, channel, scheme.guard),
            _ => Self::vht(mcs, streams, width, short_guard),
        };
        (0..=scheme.mcs).rev().find_map(narrow).unwrap_or(self)
    }

    /// Whether users can have it on resource units.
    pub(crate) fn has_units(self) -> bool {
        matches!(self.modulation, Modulation::He(_) | Modulation::Eht(_))
    }

    /// The same streams on one resource unit of the channel, and the same MCS or the highest there.
    pub fn within(self, unit: Unit) -> Option<Self> {
        let narrow = |scheme: Scheme| Scheme {
            mcs: scheme.mcs.min(unit.highest_mcs()),
            unit: Some(unit),
            ..scheme
        };
        let modulation = match self.modulation {
            Modulation::He(scheme) => Modulation::He(narrow(scheme)),
            Modulation::Eht(scheme) => Modulation::Eht(narrow(scheme)),
            _ => return None,
        };
        let same = Self { modulation, ..self };
        Some(Self {
            bits: same.scheme()?.he_bits()?,
            modulation,
        })
    }

    /// Of HE or EHT, on the same whole channel with these.
    pub(crate) fn with(self, mcs: u8, streams: u8, guard: Guard) -> Option<Self> {
        match self.modulation {
            Modulation::Eht(_) => Self::eht(mcs, streams, self.subchannels(), guard),
            _ => Self::he(mcs, streams, self.width(), guard),
        }
    }

    /// At which a trigger asks for frames. Their guard interval is 1.6 us at least (table 9-29h).
    pub(crate) fn asked(self) -> Option<Self> {
        let scheme = self.scheme()?;
        let guard = scheme.guard.max(Guard::Ns1600);
        self.with(scheme.mcs, scheme.streams, guard)
    }

    /// The same on this unit.
    pub(crate) fn asked_on(self, unit: Unit) -> Option<Self> {
        self.asked()?.within(unit)
    }

    /// How much of its channel the signal of one user of several takes, if he sends it.
    pub(crate) fn share(self) -> f64 {
        let of_unit = |scheme: Scheme| Some(scheme.unit?.share_of(self.subchannels()));
        self.scheme().and_then(of_unit).unwrap_or(1.0)
    }

    /// The non-HT reference rate of an HT, VHT, HE or EHT rate (table 10-10). It has the same modulation
    /// and code, or is OFDM's fastest if OFDM lacks them. Other rates are their own.
    pub fn reference(self) -> Self {
        // By MCS. OFDM's 9 Mbit/s (BPSK 3/4) is not here, as no MCS has it.
        const OF_SCHEME: [Rate; 7] = [
            Rate::OFDM_6,
            Rate::OFDM_12,
            Rate::OFDM_18,
            Rate::OFDM_24,
            Rate::OFDM_36,
            Rate::OFDM_48,
            Rate::OFDM_54,
        ];
        match self.scheme() {
            Some(scheme) => OF_SCHEME[usize::from(scheme.mcs).min(OF_SCHEME.len() - 1)],
            None => self,
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbit/s", self.mbps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_found_by_their_speed_and_nothing_else_is() {
        for rate in Rate::LEGACY {
            assert_eq!(Rate::from_mbps(rate.mbps()), Some(rate));
            assert_eq!(
                rate.units().map(f64::from),
                Some(2.0 * rate.mbps()),
                "{rate}"
            );
        }
        for none in [0.0, 6.5, 5.500_001, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate::from_mbps(none), None);
        }
    }
    #[test]
    fn a_narrower_channel_keeps_the_mcs_where_it_has_it() {
        use Width::{Mhz160, Mhz20, Mhz40, Mhz80};
        let he = |mcs, width| Rate::he(mcs, 2, width, Guard::Ns1600).unwrap();
        assert_eq!(he(11, Mhz160).at_most(Mhz40), he(11, Mhz40));
        assert_eq!(he(11, Mhz20).at_most(Mhz40), he(11, Mhz20));
        // 21.5 has no MCS 9 of one stream on 20 MHz.
        let vht = |mcs, width| Rate::vht(mcs, 1, width, true).unwrap();
        assert_eq!(vht(9, Mhz80).at_most(Mhz20), vht(8, Mhz20));
        let ht = |width| Rate::ht(13, width, false).unwrap();
        assert_eq!(ht(Mhz40).at_most(Mhz20), ht(Mhz20));
        assert_eq!(Rate::OFDM_54.at_most(Mhz20), Rate::OFDM_54);
    }

    /// Speeds of the tables in 19.5 and 21.5, with long and short guard interval.
    #[test]
    fn ht_and_vht_are_as_fast_as_the_tables_say() {
        use Width::{Mhz160, Mhz20, Mhz40, Mhz80};
        let ht = [
            (0, Mhz20, 6.5, 7.2),
            (5, Mhz20, 52.0, 57.8),
            (7, Mhz20, 65.0, 72.2),
            (12, Mhz20, 78.0, 86.7),
            (15, Mhz20, 130.0, 144.4),
            (0, Mhz40, 13.5, 15.0),
            (7, Mhz40, 135.0, 150.0),
            (15, Mhz40, 270.0, 300.0),
        ];
        for (index, width, long, short) in ht {
            for (short_guard, mbps) in [(false, long), (true, short)] {
                let rate = Rate::ht(index, width, short_guard).expect("an HT rate");
                assert!((rate.mbps() - mbps).abs() < 0.05, "{rate} of {index}");
            }
        }
        let vht = [
            (8, 1, Mhz20, 78.0, 86.7),
            (9, 1, Mhz40, 180.0, 200.0),
            (9, 2, Mhz40, 360.0, 400.0),
            (0, 1, Mhz80, 29.3, 32.5),
            (9, 1, Mhz80, 390.0, 433.3),
            (7, 2, Mhz80, 585.0, 650.0),
            (9, 2, Mhz80, 780.0, 866.7),
            (9, 3, Mhz20, 260.0, 288.9),
            (9, 4, Mhz80, 1560.0, 1733.3),
            (0, 1, Mhz160, 58.5, 65.0),
            (9, 1, Mhz160, 780.0, 866.7),
            (9, 2, Mhz160, 1560.0, 1733.3),
        ];
        for (mcs, streams, width, long, short) in vht {
            for (short_guard, mbps) in [(false, long), (true, short)] {
                let rate = Rate::vht(mcs, streams, width, short_guard).expect("a VHT rate");
                assert!((rate.mbps() - mbps).abs() < 0.051, "{rate} of {mcs}");
            }
        }
    }

    /// Speeds of 802.11ax's tables 27-111 to 27-114, with guard intervals of 0.8, 1.6 and 3.2 us.
    #[test]
    fn he_is_as_fast_as_the_tables_say() {
        use Width::{Mhz160, Mhz20, Mhz40, Mhz80};
        let he = [
            (0, 1, Mhz20, [8.6, 8.1, 7.3]),
            (4, 1, Mhz20, [51.6, 48.8, 43.9]),
            (11, 1, Mhz20, [143.4, 135.4, 121.9]),
            (11, 2, Mhz20, [286.8, 270.8, 243.8]),
            (9, 1, Mhz40, [229.4, 216.7, 195.0]),
            (0, 1, Mhz80, [36.0, 34.0, 30.6]),
            (9, 1, Mhz80, [480.4, 453.7, 408.3]),
            (11, 1, Mhz80, [600.5, 567.1, 510.4]),
            (11, 2, Mhz80, [1201.0, 1134.2, 1020.8]),
            (11, 1, Mhz160, [1201.0, 1134.2, 1020.8]),
            (11, 4, Mhz160, [4803.9, 4537.0, 4083.3]),
        ];
        for (mcs, streams, width, speeds) in he {
            let guards = [Guard::Ns800, Guard::Ns1600, Guard::Ns3200];
            for (guard, mbps) in guards.into_iter().zip(speeds) {
                let rate = Rate::he(mcs, streams, width, guard).expect("an HE rate");
                assert!((rate.mbps() - mbps).abs() < 0.06, "{rate} of {mcs}");
            }
        }
        for (mcs, streams, guard) in [
            (12, 1, Guard::Ns800),
            (0, 0, Guard::Ns800),
            (0, 5, Guard::Ns800),
            (0, 1, Guard::Ns400),
        ] {
            assert_eq!(Rate::he(mcs, streams, Mhz20, guard), None);
        }
    }

    /// Speeds of 802.11ax's tables 27-79, 27-83, 27-87 and on, with guard intervals of 0.8 and 3.2 us.
    #[test]
    fn units_of_he_are_as_fast_as_the_tables_say() {
        use Unit::{Tones106, Tones242, Tones26, Tones484, Tones52};
        for (mcs, unit, speeds) in [
            (0, Tones26, [0.9, 0.8]),
            (11, Tones26, [14.7, 12.5]),
            (0, Tones52, [1.8, 1.5]),
            (11, Tones52, [29.4, 25.0]),
            (0, Tones106, [3.8, 3.2]),
            (11, Tones106, [62.5, 53.1]),
            (11, Tones242, [143.4, 121.9]),
            (11, Tones484, [286.8, 243.8]),
        ] {
            for (guard, mbps) in [Guard::Ns800, Guard::Ns3200].into_iter().zip(speeds) {
                let whole = Rate::he(mcs, 1, Width::Mhz80, guard).expect("an HE rate");
                let rate = whole.within(unit).expect("a unit of HE");
                assert!(
                    (rate.mbps() - mbps).abs() < 0.051,
                    "{rate} of {mcs} {unit:?}"
                );
                assert_eq!(rate.reference(), whole.reference());
            }
        }
        assert_eq!(Rate::OFDM_6.within(Unit::Tones26), None);
    }

    /// Speeds of 802.11be's tables in 36.5, with guard intervals of 0.8, 1.6 and 3.2 us.
    #[test]
    fn eht_is_as_fast_as_the_tables_say() {
        use Width::{Mhz160, Mhz20, Mhz320, Mhz80};
        let eht = [
            (11, 1, Mhz20, [143.4, 135.4, 121.9]),
            (12, 1, Mhz20, [154.9, 146.3, 131.6]),
            (13, 1, Mhz20, [172.1, 162.5, 146.3]),
            (13, 1, Mhz80, [720.6, 680.6, 612.5]),
            (13, 2, Mhz160, [2882.4, 2722.2, 2450.0]),
            (0, 1, Mhz320, [144.1, 136.1, 122.5]),
            (13, 1, Mhz320, [2882.4, 2722.2, 2450.0]),
            (13, 4, Mhz320, [11529.4, 10888.9, 9800.0]),
        ];
        for (mcs, streams, width, speeds) in eht {
            let guards = [Guard::Ns800, Guard::Ns1600, Guard::Ns3200];
            for (guard, mbps) in guards.into_iter().zip(speeds) {
                let rate = Rate::eht(mcs, streams, width, guard).expect("an EHT rate");
                assert!((rate.mbps() - mbps).abs() < 0.06, "{rate} of {mcs}");
            }
        }
        assert_eq!(Rate::eht(14, 1, Mhz20, Guard::Ns800), None);
        assert_eq!(Rate::he(0, 1, Mhz320, Guard::Ns800), None);
        let wide = Rate::eht(13, 2, Mhz320, Guard::Ns800).unwrap();
        let narrow = Rate::eht(13, 2, Mhz80, Guard::Ns800).unwrap();
        assert_eq!(wide.at_most(Mhz80), narrow);
    }

    /// The speed of a multiple resource unit is the sum of its units' (802.11be-2024 36.5). These are of
    /// MCS 13 with a guard interval of 0.8 us.
    #[test]
    fn punctured_channels_are_as_fast_as_their_units_together() {
        use Width::{Mhz160, Mhz320, Mhz80};
        let (of_242, of_484, of_996) = (172.1, 344.1, 720.6);
        for (width, bits, mbps) in [
            (Mhz80, 0x8, of_484 + of_242),
            (Mhz160, 0x30, of_996 + of_484),
            (Mhz160, 0x10, of_996 + of_484 + of_242),
            (Mhz320, 0xf003, 2.0 * of_996 + of_484),
            (Mhz320, 0xf00, 3.0 * of_996),
            (Mhz320, 0xc, 3.0 * of_996 + of_484),
        ] {
            let channel = Subchannels {
                punctured: Punctured(bits),
                ..width.into()
            };
            let rate = Rate::eht(13, 1, channel, Guard::Ns800).expect("an EHT rate");
            assert!((rate.mbps() - mbps).abs() < 0.15, "{rate} of {bits:#x}");
            let whole = Rate::eht(13, 1, width, Guard::Ns800).expect("an EHT rate");
            assert_eq!(whole.at_most(channel), rate);
            assert_eq!(rate.width(), width);
            let active = width.subchannels() - channel.punctured.count();
            assert_eq!(rate.widening(), f64::from(active));
            let asked = rate.with(13, 1, Guard::Ns800);
            assert_eq!(asked, Some(rate));
        }
    }

    #[test]
    fn only_eht_leaves_subchannels_out() {
        use Width::{Mhz40, Mhz80};
        let channel = Subchannels {
            punctured: Punctured(0x8),
            ..Mhz80.into()
        };
        let he = |width| Rate::he(7, 1, width, Guard::Ns800).unwrap();
        assert_eq!(he(Mhz80).at_most(channel), he(Mhz40));
    }

    #[test]
    fn what_the_tables_leave_out_is_no_rate() {
        use Width::{Mhz20, Mhz40, Mhz80};
        for (mcs, streams, width) in [
            (9, 1, Mhz20),
            (9, 2, Mhz20),
            (9, 4, Mhz20),
            (6, 3, Mhz80),
            (10, 1, Mhz80),
            (0, 0, Mhz20),
            (0, 5, Mhz20),
        ] {
            assert_eq!(
                Rate::vht(mcs, streams, width, false),
                None,
                "{mcs} {streams}"
            );
        }
        for mcs in 0..10 {
            for streams in 1..=2 {
                for width in [Mhz20, Mhz40, Mhz80] {
                    let is_one = Rate::vht(mcs, streams, width, true).is_some();
                    assert_eq!(is_one, mcs < 9 || width != Mhz20);
                }
            }
        }
        assert_eq!(Rate::ht(16, Mhz20, false), None);
        assert_eq!(Rate::ht(0, Mhz80, false), None);
    }
}
