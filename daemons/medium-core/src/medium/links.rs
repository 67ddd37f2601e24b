// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counts and histograms of every link: an observer of what ends on the air.

use alloc::format;
use alloc::vec::Vec;

use hoplab_base::Stream;

use super::observers::End;
use crate::air::Ended;
use crate::parts::Setup;
use crate::space::{Space, Station};
use crate::{Dbm, LinkCounters, LinkId, LinkView, Params, RadioId, Signals, To};

struct Link {
    to: RadioId,
    counters: LinkCounters,
    signals: Option<Signals>,
}

pub struct Links {
    /// Of each sender, in order of the receiver.
    of: Vec<Vec<Link>>,
    /// Errors of each card's readings. They have streams of their own, so they change the fate of
    /// no frame.
    misreadings: Vec<Stream>,
}

impl Links {
    pub fn new(params: &Params, stations: &[Station]) -> Self {
        let mut links = Self {
            of: Vec::new(),
            misreadings: Vec::new(),
        };
        stations
            .iter()
            .for_each(|station| links.add(params, station));
        links
    }

    /// Those of a radio more.
    pub fn add(&mut self, params: &Params, station: &Station) {
        let name = format!("medium/levels/{}", station.name);
        self.of.push(Vec::new());
        self.misreadings.push(Stream::new(params.seed, &name));
    }

    /// Later draws follow from another seed too.
    pub fn reseed(&mut self, seed: u64) {
        for stream in &mut self.misreadings {
            stream.reseed(seed);
        }
    }

    /// Count a data frame.
    pub fn observe(&mut self, end: &End<'_>, setup: &Setup, space: &mut Space) {
        let (tx, ppdu) = (end.transmission, end.part);
        if !ppdu.step.is_data() {
            return;
        }
        let devices = &setup.devices;
        let from = devices.device(tx.from);
        for ended in end.heard.iter().filter(|ended| ppdu.is_for(ended.radio)) {
            // A group frame is for all radios. Those out of its range have not lost it.
            if ppdu.to == To::Everyone && !setup.hearing.decodes(ended.dbm) {
                continue;
            }
            let link = self.link(from, devices.device(ended.radio));
            if ppdu.subframes.is_empty() {
                link.counters.count(ended.fate, ppdu.bytes, ended.dbm);
            }
            for (at, subframe) in ppdu.subframes.iter().enumerate() {
                let fate = ended.fate_of(at);
                link.counters.count(fate, subframe.bytes, ended.dbm);
            }
            if setup.params.histograms {
                self.measure(from, ended, setup);
            }
        }
        if let Some((to, fate)) = end.missed.filter(|_| !end.to_itself()) {
            // The receiver sensed nothing, so there is no power with fading. The mean at the
            // beginning takes its place.
            let dbm = space.mean_dbm(tx.from, to, tx.start);
            let link = self.link(from, devices.device(to));
            if ppdu.subframes.is_empty() {
                link.counters.count(fate, ppdu.bytes, dbm);
            }
            for subframe in &ppdu.subframes {
                link.counters.count(fate, subframe.bytes, dbm);
            }
        }
    }

    fn measure(&mut self, from: RadioId, ended: &Ended, setup: &Setup) {
        let error_db = setup.params.level_error_db;
        let random = &mut self.misreadings[ended.radio.index()];
        let mut read = |dbm: Dbm| match error_db {
            0.0 => dbm,
            _ => dbm + error_db * random.gaussian(),
        };
        let signal_dbm = read(ended.dbm);
        let noise_dbm = (ended.noise_mw > 0.0).then(|| read(Dbm::from_mw(ended.noise_mw)));
        let link = self.link(from, setup.devices.device(ended.radio));
        let signals = link.signals.get_or_insert_with(Signals::default);
        signals.signal.add(signal_dbm);
        if let Some(dbm) = noise_dbm {
            signals.noise.add(dbm);
        }
    }

    fn link(&mut self, from: RadioId, to: RadioId) -> &mut Link {
        let links = &mut self.of[from.index()];
        let at = links
            .binary_search_by_key(&to, |link| link.to)
            .unwrap_or_else(|at| {
                let link = Link {
                    to,
                    counters: LinkCounters::default(),
                    signals: None,
                };
                links.insert(at, link);
                at
            });
        &mut links[at]
    }

    pub fn count_of(&self, link: LinkId) -> LinkCounters {
        let found = self.used(link.from).find(|view| view.to == link.to);
        found.map_or(LinkCounters::default(), |view| *view.counters)
    }

    /// Links of a sender that frames were sent on.
    pub fn used(&self, from: RadioId) -> impl Iterator<Item = LinkView<'_>> {
        let links = self.of[from.index()].iter();
        let used = links.filter(|link| link.counters.frames > 0);
        used.map(|link| LinkView {
            to: link.to,
            counters: &link.counters,
            signals: link.signals.as_ref(),
        })
    }

    /// Measuring begins.
    pub fn forget(&mut self) {
        self.of.iter_mut().for_each(Vec::clear);
    }
}
