// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rules and times of all radios of a channel, computed once.

use hoplab_base::Duration;

use super::{AggregateLimits, Contention, Devices, Hearing, RetryLimits};
use crate::mimo::report_bytes;
use crate::timing::Timing;
use crate::{Category, CategoryParams, Frame, Modulation, Params, Rate, To};

/// Octets of an A-MPDU of HT with the largest exponent (table 9-185), and of VHT (table 9-273). One
/// of HE has as many as its PSDU (802.11ax-2021 table 27-53).
const HT_OCTETS: usize = 65_535;
const VHT_OCTETS: usize = 1_048_575;
const HE_OCTETS: usize = 6_500_631;
/// Of EHT (802.11be-2024 table 36-70).
const EHT_OCTETS: usize = 15_523_198;

pub struct Setup {
    pub params: Params,
    pub timing: Timing,
    pub hearing: Hearing,
    /// None where the kernel's rate table says how often a frame is tried.
    pub retry_limits: Option<RetryLimits>,
    pub devices: Devices,
}

impl Setup {
    pub fn new(params: Params) -> Self {
        let limits = RetryLimits {
            short: params.retry_short,
            long: params.retry_long,
        };
        let edca = params.edca.as_ref();
        let window = edca.map(|edca| edca.aggregation.map_or(1, |aggregation| aggregation.window));
        Self {
            timing: Timing::new(&params.phy, params.no_ack, window),
            hearing: Hearing::new(&params),
            retry_limits: (!params.kernel_retries).then_some(limits),
            devices: Devices::default(),
            params,
        }
    }

    /// Whether frames to there are acknowledged, and may have an RTS before them.
    pub fn acknowledges(&self, to: To) -> bool {
        to != To::Everyone && !self.params.no_ack
    }

    /// Whether a card has a queue for each access function. One of DCF takes frames from the
    /// interface queue, one by one.
    pub fn card_queues(&self) -> bool {
        self.params.edca.is_some()
    }

    /// Access functions of a radio.
    pub fn functions(&self) -> usize {
        self.params.edca.map_or(1, |edca| edca.categories.len())
    }

    /// How an access function contends that has these parameters; none for a station of DCF.
    pub fn contention(&self, category: Option<CategoryParams>) -> Contention {
        let phy = &self.params.phy;
        match category {
            Some(category) => Contention {
                cw_min: category.cw_min,
                cw_max: category.cw_max,
                ifs: phy.sifs + u64::from(category.aifsn) * phy.slot,
                counts_at_once: true,
            },
            None => Contention {
                cw_min: phy.cw_min,
                cw_max: phy.cw_max,
                ifs: self.timing.difs,
                counts_at_once: false,
            },
        }
    }

    /// The access function that a frame goes by, of a radio that sends QoS headers or does not.
    /// Management goes as voice (10.2.3.2), and so do beacons.
    pub fn function(&self, frame: &Frame, qos: bool) -> usize {
        let category = match frame.tid {
            _ if self.params.edca.is_none() => return 0,
            Some(tid) => Category::of(tid),
            None if qos && frame.class != crate::Class::Data => Category::Voice,
            None => Category::BestEffort,
        };
        category as usize
    }

    /// Whether this frame goes together with others of its receiver and TID.
    pub fn aggregates(&self, frame: &Frame) -> bool {
        let aggregation = self.params.edca.and_then(|edca| edca.aggregation);
        aggregation.is_some_and(|aggregation| !aggregation.by_hosts || frame.numbered.is_some())
    }

    /// Whether access points ask stations for their frames.
    pub fn polls(&self) -> bool {
        self.params.ofdma.is_some_and(|ofdma| ofdma.uplink)
    }

    /// How long an access point waits at most until it polls queues again; none where it does not.
    pub fn bsrp(&self) -> Option<Duration> {
        let ofdma = self
            .params
            .ofdma
            .filter(|ofdma| ofdma.uplink && self.params.edca.is_some());
        ofdma.and_then(|ofdma| ofdma.bsrp)
    }

    /// Octets of a station's report on the channel to its access point.
    pub fn report_bytes(&self, rate: Rate) -> usize {
        let mimo = self.params.ofdma.and_then(|ofdma| ofdma.mimo);
        mimo.map_or(0, |mimo| report_bytes(mimo.streams(), rate))
    }

    /// Whether the hosts make the block ack agreements.
    pub fn hosts_agree(&self) -> bool {
        let aggregation = self.params.edca.and_then(|edca| edca.aggregation);
        aggregation.is_some_and(|aggregation| aggregation.by_hosts)
    }

    /// Frames that an agreement has outstanding at most.
    pub fn window(&self) -> usize {
        let aggregation = self.params.edca.and_then(|edca| edca.aggregation);
        aggregation.map_or(1, |aggregation| aggregation.window)
    }

    /// Limits of an A-MPDU at this rate. None if frames go alone.
    pub fn limits(&self, rate: Rate) -> Option<AggregateLimits> {
        let aggregation = self.params.edca?.aggregation?;
        let octets = match rate.modulation() {
            Modulation::Ht(_) => HT_OCTETS,
            Modulation::Vht(_) => VHT_OCTETS,
            Modulation::He(_) => HE_OCTETS,
            Modulation::Eht(_) => EHT_OCTETS,
            Modulation::Dsss | Modulation::Ofdm => return None,
        };
        let spacing_us = aggregation.start_spacing.as_nanos() as f64 / 1000.0;
        Some(AggregateLimits {
            window: aggregation.window,
            octets: aggregation.octets.min(octets),
            spacing_bytes: libm::ceil(spacing_us * rate.mbps() / 8.0) as usize,
        })
    }

    /// Whether an RTS goes before a PSDU of so many octets, by its length alone.
    pub fn protects(&self, bytes: usize) -> bool {
        self.params
            .edca
            .is_some_and(|edca| bytes > edca.rts_threshold)
    }

    /// Bring a host's frame into the form in which it is sent; false where that cannot be.
    pub fn accepts(&self, frame: &mut Frame) -> bool {
        frame.rates.truncate(crate::MAX_RATES);
        let rates = &mut frame.rates;
        let standard = self.params.phy.standard;
        if rates.is_empty() || !rates.iter().all(|attempts| standard.has(attempts.rate)) {
            return false;
        }
        if !self.params.kernel_retries {
            // The first entry's RTS is the threshold's. minstrel asks for RTS at every further one,
            // which the standard does not know (10.3.2.9).
            let protected = rates[0].rts;
            rates
                .iter_mut()
                .for_each(|attempts| attempts.rts = protected);
        }
        true
    }
}
