// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Outputs to the hosts, each frame's status once.

use alloc::collections::{BTreeMap, VecDeque};

use hoplab_base::Instant;

use crate::parts::{Arrived, Finished};
use crate::{Audit, FrameId, Output, RadioId};

/// A frame that receivers have not handed to their hosts yet.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    receivers: u32,
    /// Its sender is done with it.
    concluded: bool,
}

#[derive(Default)]
pub struct Ledger {
    outputs: VecDeque<Output>,
    audit: Audit,
    held: BTreeMap<FrameId, Held>,
}

impl Ledger {
    pub fn audit(&self) -> Audit {
        self.audit
    }

    pub fn accept(&mut self) {
        self.audit.accepted += 1;
    }

    pub fn push(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The sender is done with a frame.
    pub fn conclude(&mut self, radio: RadioId, finished: Finished, at: Instant) {
        let Finished {
            frame,
            outcome,
            tries,
            airtime,
            agreement,
        } = finished;
        self.audit.count(outcome);
        let held = self.held.get_mut(&frame);
        let kept = held.is_some();
        if let Some(held) = held {
            held.concluded = true;
        }
        self.push(Output::Status {
            frame,
            radio,
            at,
            outcome,
            tries,
            airtime,
            agreement,
            kept,
        });
    }

    pub fn deliver(&mut self, to: RadioId, arrived: Arrived) {
        self.push(Output::Deliver {
            frame: arrived.frame,
            from: arrived.from,
            to,
            signal_dbm: arrived.dbm,
            rate: arrived.rate,
        });
    }

    /// One receiver more holds `frame`.
    pub fn hold(&mut self, frame: FrameId) {
        self.held.entry(frame).or_default().receivers += 1;
    }

    /// One receiver less holds it.
    pub fn release(&mut self, frame: FrameId) {
        let Some(held) = self.held.get_mut(&frame) else {
            return;
        };
        held.receivers -= 1;
        if held.receivers == 0 {
            if held.concluded {
                self.outputs.push_back(Output::Released { frame });
            }
            self.held.remove(&frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    /// The driver keeps a frame for as long as anybody may ask for it.
    #[test]
    fn a_held_frame_is_released_once_after_its_status() {
        let mut ledger = Ledger::default();
        ledger.hold(1);
        ledger.hold(1);
        let radio = RadioId::new(0);
        let finished = Finished::untried(1, Outcome::Acked);
        ledger.conclude(radio, finished, Instant::ZERO);
        ledger.release(1);
        let status = ledger.poll();
        assert!(matches!(status, Some(Output::Status { kept: true, .. })));
        assert_eq!(ledger.poll(), None);
        ledger.release(1);
        assert_eq!(ledger.poll(), Some(Output::Released { frame: 1 }));
        ledger.release(1);
        assert_eq!(ledger.poll(), None);
    }
}
