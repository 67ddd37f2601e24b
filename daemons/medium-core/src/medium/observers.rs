// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What observers of the channel get to see. They change nothing that happens.

use alloc::boxed::Box;

use hoplab_base::Instant;

use super::ledger::Ledger;
use crate::air::{Ended, Transmission};
use crate::parts::{Ppdu, Setup};
use crate::step::Step;
use crate::{Agreed, Aired, Asked, Asks, Dbm, Fate, Output, Place, Portion, RadioId, To};

/// A transmission that is over at all who heard it.
pub struct End<'a> {
    pub transmission: &'a Transmission,
    /// What was in it for one receiver.
    pub part: &'a Ppdu,
    pub at: Instant,
    pub heard: &'a [Ended],
    /// The radio that it was for, if that did not even sense it, and why.
    pub missed: Option<(RadioId, Fate)>,
}

/// Sees what ends on the air, and adds to the outputs.
pub type Observer = fn(&End<'_>, &Setup, &mut Ledger);

impl End<'_> {
    /// Give it out as a trace has it: once, or for each frame of an A-MPDU.
    pub fn trace(&self, setup: &Setup, outputs: &mut Ledger) {
        let (tx, ppdu) = (self.transmission, self.part);
        let own = setup.devices.affiliation(tx.from);
        let all = Aired {
            at: tx.start,
            until: self.at,
            from: own.device,
            link: own.link,
            to: match ppdu.to {
                To::Radio(to) => To::Radio(setup.devices.device(to)),
                other => other,
            },
            kind: ppdu.kind(),
            frame: ppdu.payload.map(|payload| payload.id),
            bytes: ppdu.bytes,
            rate: ppdu.rate,
            attempt: ppdu.attempt,
            nav: ppdu.nav,
            fate: self.fate(|ended| ended.fate),
            signal_dbm: self.signal_dbm(|ended| ended.fate),
            function: ppdu.function,
            place: None,
            agreement: ppdu.agreement.map(agreed),
            block_ack: ppdu.block_ack,
            share: self.portion(),
            triggered: ppdu.triggered,
            waiting: ppdu.waiting.filter(|_| ppdu.step == Step::BufferStatus),
            sounding: ppdu.step.sounding(),
            asks: ppdu.asked.map(|asked| Asks {
                what: match ppdu.step {
                    Step::Poll => Asked::Frames,
                    Step::Bsrp => Asked::BufferStatus,
                    step if step.sounding().is_some() => Asked::Report,
                    _ => Asked::BlockAck,
                },
                rate: asked.rate,
                lasts: asked.shape.lasts,
            }),
        };
        if ppdu.subframes.is_empty() {
            return outputs.push(Output::Aired(Box::new(all)));
        }
        let frames = ppdu.subframes.len() as u32;
        for (at, subframe) in ppdu.subframes.iter().enumerate() {
            outputs.push(Output::Aired(Box::new(Aired {
                frame: Some(subframe.payload.id),
                bytes: subframe.bytes,
                attempt: subframe.attempt,
                fate: self.fate(|ended| ended.fate_of(at)),
                signal_dbm: self.signal_dbm(|ended| ended.fate_of(at)),
                place: Some(Place {
                    number: at as u32,
                    frames,
                }),
                agreement: ppdu
                    .agreement
                    .map(|(tid, _)| agreed((tid, subframe.sequence))),
                ..all
            })));
        }
    }

    fn portion(&self) -> Option<Portion> {
        let parts = || self.transmission.ppdu.parts();
        let number = parts().position(|part| core::ptr::eq(part, self.part))?;
        let (number, users) = (number as u8, parts().count() as u8);
        (users > 1).then_some(Portion { number, users })
    }

    fn received(&self, fate: impl Fn(&Ended) -> Fate) -> Option<(Fate, Dbm)> {
        let heard = self.heard.iter();
        let heard = heard.filter(|ended| self.part.is_for(ended.radio));
        heard.map(|ended| (fate(ended), ended.dbm)).reduce(better)
    }

    fn fate(&self, of: impl Fn(&Ended) -> Fate) -> Fate {
        match self.received(of) {
            _ if self.transmission.cut => Fate::Off,
            Some((fate, _)) => fate,
            None => self.missed.map_or(Fate::Nobody, |missed| missed.1),
        }
    }

    fn signal_dbm(&self, of: impl Fn(&Ended) -> Fate) -> Option<Dbm> {
        self.received(of).map(|received| received.1)
    }

    /// Whether the receiver that it was for was the sender itself.
    pub fn to_itself(&self) -> bool {
        self.part.to == To::Radio(self.transmission.from)
    }
}

fn agreed((tid, sequence): (u8, u64)) -> Agreed {
    Agreed { tid, sequence }
}

/// Of a broadcast's fates the one to record: delivered if anywhere, and the strongest signal.
fn better(old: (Fate, Dbm), new: (Fate, Dbm)) -> (Fate, Dbm) {
    match (old.0 == Fate::Delivered, new.0 == Fate::Delivered) {
        (true, false) => old,
        (false, true) => new,
        _ if new.1 > old.1 => new,
        _ => old,
    }
}
