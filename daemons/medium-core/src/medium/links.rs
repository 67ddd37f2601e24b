// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counts and histograms of every link: an observer of what ends on the air.

use alloc::format;
use alloc::vec::Vec;

use hoplab_base::Stream;

use super::observers::End;
use crate::parts::{Ppdu, Setup};
use crate::space::{Space, Station};
use crate::{Dbm, Fate, LinkCounters, LinkId, LinkView, Params, RadioId, Signals, To};

struct Link {
    to: RadioId,
    counters: LinkCounters,
    signals: Signals,
}

impl Link {
    /// Count the frames of a PPDU's part, by their places in it.
    fn count(&mut self, part: &Ppdu, dbm: Dbm, fate_of: impl Fn(usize) -> Fate) {
        if part.subframes.is_empty() {
            self.counters.count(fate_of(0), part.bytes, dbm);
        }
        for (place, subframe) in part.subframes.iter().enumerate() {
            self.counters.count(fate_of(place), subframe.bytes, dbm);
        }
    }
}

pub struct Links {
    /// Of each sender, in order of the receiver.
    of: Vec<Vec<Link>>,
    /// Standard deviation of what cards read; none where they read what is there.
    error_db: Option<f64>,
    /// Errors of each card's readings. They have streams of their own, so they change the fate of
    /// no frame.
    misreadings: Vec<Stream>,
}

impl Links {
    pub fn new(params: &Params, stations: &[Station]) -> Self {
        let mut links = Self {
            of: Vec::new(),
            error_db: None,
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

    /// Cards read levels with errors of this standard deviation.
    pub fn misread(&mut self, error_db: f64) {
        self.error_db = Some(error_db);
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
            let signal_dbm = self.read(ended.radio, ended.dbm);
            let noise_dbm = (ended.noise_mw > 0.0)
                .then(|| self.read(ended.radio, Dbm::from_mw(ended.noise_mw)));
            let link = self.link(from, devices.device(ended.radio));
            link.count(ppdu, ended.dbm, |place| ended.fate_of(place));
            link.signals.signal.add(signal_dbm);
            if let Some(dbm) = noise_dbm {
                link.signals.noise.add(dbm);
            }
        }
        if let Some((to, fate)) = end.missed.filter(|_| !end.to_itself()) {
            // The receiver sensed nothing, so there is no power with fading. The mean at the
            // beginning takes its place.
            let dbm = space.mean_dbm(tx.from, to, tx.start);
            let link = self.link(from, devices.device(to));
            link.count(ppdu, dbm, |_| fate);
        }
    }

    /// What a radio's card reads there.
    fn read(&mut self, radio: RadioId, dbm: Dbm) -> Dbm {
        self.error_db.map_or(dbm, |error_db| {
            dbm + error_db * self.misreadings[radio.index()].gaussian()
        })
    }

    fn link(&mut self, from: RadioId, to: RadioId) -> &mut Link {
        let links = &mut self.of[from.index()];
        let at = links
            .binary_search_by_key(&to, |link| link.to)
            .unwrap_or_else(|at| {
                let link = Link {
                    to,
                    counters: LinkCounters::default(),
                    signals: Signals::default(),
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
            signals: &link.signals,
        })
    }

    /// Measuring begins.
    pub fn forget(&mut self) {
        self.of.iter_mut().for_each(Vec::clear);
    }
}
