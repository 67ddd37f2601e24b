// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What all radios of a channel go by, worked out once.

use super::{Hearing, RetryLimits};
use crate::timing::Timing;
use crate::{Frame, Params, To};

pub struct Setup {
    pub params: Params,
    pub timing: Timing,
    pub hearing: Hearing,
    /// None where the kernel's rate table says how often a frame is tried.
    pub retry_limits: Option<RetryLimits>,
}

impl Setup {
    pub fn new(params: Params) -> Self {
        let limits = RetryLimits {
            short: params.retry_short,
            long: params.retry_long,
        };
        Self {
            timing: Timing::new(&params.phy, params.no_ack),
            hearing: Hearing::new(&params),
            retry_limits: (!params.kernel_retries).then_some(limits),
            params,
        }
    }

    /// Whether frames to there are acknowledged, and may have an RTS before them.
    pub fn acknowledges(&self, to: To) -> bool {
        to != To::Everyone && !self.params.no_ack
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
