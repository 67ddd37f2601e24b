// SPDX-License-Identifier: Apache-2.0
//! What a radio knows of each other one.

use alloc::vec::Vec;

use crate::{LinkCounters, LinkView, Signals};

struct Link {
    to: usize,
    /// Number of the last frame that came from there.
    last_number: u64,
    counters: LinkCounters,
    signals: Option<Signals>,
}

/// In order of the other radio.
#[derive(Default)]
pub struct Links(Vec<Link>);

impl Links {
    fn entry(&mut self, to: usize) -> &mut Link {
        let at = match self.0.binary_search_by_key(&to, |link| link.to) {
            Ok(at) => at,
            Err(at) => {
                let link = Link {
                    to,
                    last_number: 0,
                    counters: LinkCounters::default(),
                    signals: None,
                };
                self.0.insert(at, link);
                at
            }
        };
        &mut self.0[at]
    }

    /// Note a frame from `other`; returns whether it is the one that came last, again (10.3.2.14).
    pub fn repeats(&mut self, other: usize, number: u64) -> bool {
        let link = self.entry(other);
        core::mem::replace(&mut link.last_number, number) == number
    }

    pub fn counters(&mut self, to: usize) -> &mut LinkCounters {
        &mut self.entry(to).counters
    }

    pub fn signals(&mut self, to: usize) -> &mut Signals {
        self.entry(to).signals.get_or_insert_with(Signals::default)
    }

    pub fn count_of(&self, to: usize) -> LinkCounters {
        let at = self.0.binary_search_by_key(&to, |link| link.to);
        at.map_or(LinkCounters::default(), |at| self.0[at].counters)
    }

    /// Links that frames were sent on.
    pub fn used(&self) -> impl Iterator<Item = LinkView<'_>> {
        let used = self.0.iter().filter(|link| link.counters.frames > 0);
        used.map(|link| LinkView {
            to: link.to,
            counters: &link.counters,
            signals: link.signals.as_ref(),
        })
    }

    /// Measuring begins.
    pub fn forget(&mut self) {
        for link in &mut self.0 {
            link.counters = LinkCounters::default();
            link.signals = None;
        }
    }
}
