// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Changes from outside while the channel is in use.

use alloc::vec::Vec;

use hoplab_base::Instant;

use super::{Event, Medium};
use crate::radio::Moment;
use crate::space::{Antenna, Position, Station};
use crate::{
    Category, CategoryParams, Dbm, Emlsr, LinkId, MediumId, Mhz, RadioId, Subchannels, Width,
};

/// A further radio of a multi-link device.
#[derive(Clone, Debug)]
pub struct FurtherLink {
    /// Where it goes, as its device's first radio does, and the name of its random streams.
    pub station: Station,
    pub channel: Mhz,
    pub width: Width,
    /// Of what it sends; none for that of its device's first radio.
    pub frequency_mhz: Option<f64>,
}

impl Medium {
    /// From now on there is a radio more, with the next number. It has the card and the antenna of
    /// [`Params`](crate::Params), hears what begins from now on, and counts from now on.
    pub fn add(&mut self, station: Station) -> RadioId {
        let radio = self.radios.add(&station.name, &self.setup);
        self.links.add(&self.setup.params, &station);
        self.space.add(station);
        self.radios[radio].forget_counts(self.now);
        self.foresee_empty(radio);
        radio
    }

    /// From now on this radio has a further link, before anything happens. Its host knows nothing of
    /// it.
    ///
    /// Frames of block ack agreements go by whichever link wins its channel first, to devices that
    /// have that link too. All others go by the first link (802.11be-2024 35.3).
    pub fn add_link(&mut self, radio: RadioId, link: FurtherLink) {
        let further = self.add(link.station);
        let limits = self.radios[radio].limits;
        self.radios[further].limits = limits;
        self.place_on(further, link.channel);
        self.narrow(further, link.width);
        // Only the first link would share PPDUs, and what links have in common is more than its queue.
        self.setup.params.ofdma = None;
        let devices = &mut self.setup.devices;
        devices.affiliate(radio, further, link.width, link.frequency_mhz);
        self.radios.affiliate(&self.setup.devices);
        self.fit(radio, self.antenna(radio));
    }

    /// From now on this radio, which has all its further links, and those are a single one (EMLSR),
    /// before anything happens.
    pub fn make_single(&mut self, radio: RadioId, emlsr: Emlsr) {
        self.setup.devices.make_single(radio, emlsr);
        for link in self.of_device(radio) {
            let part = self.setup.devices.part(link);
            self.radios[link].power.have(part);
        }
    }

    /// All radios that a host's one stands for.
    fn of_device(&self, radio: RadioId) -> Vec<RadioId> {
        self.setup.devices.radios(radio).collect()
    }

    /// Switch a radio off or on at `at`.
    pub fn schedule_power(&mut self, at: Instant, radio: RadioId, up: bool) {
        self.agenda.push(at, Event::Power { up, radio });
    }

    /// From now on the radio dozes, if it has nothing to send or to answer, or is awake. It wakes by
    /// itself for a frame of its host. Dozing it receives nothing, and draws [`Energy::sleep_w`].
    ///
    /// [`Energy::sleep_w`]: crate::Energy::sleep_w
    pub fn doze(&mut self, radio: RadioId, dozes: bool) {
        self.radios[radio].rest(false);
        let at = Moment {
            now: self.now,
            setup: &self.setup,
        };
        let wake = self.radios[radio].doze(dozes, at);
        self.agenda.wake(radio, wake);
    }

    /// The radio dozes, as by [`doze`](Self::doze), but one that owes an answer after sending it.
    pub fn rest(&mut self, radio: RadioId) {
        self.doze(radio, true);
        self.radios[radio].rest(true);
    }

    /// From now on the radio is at `position`, and stays. Frames on the air keep the power with
    /// which they began.
    pub fn put(&mut self, radio: RadioId, position: Position) {
        for radio in self.of_device(radio) {
            self.space.put(radio, position, self.now);
        }
    }

    /// From now on the radio has this antenna and power.
    pub fn fit(&mut self, radio: RadioId, antenna: Antenna) {
        for radio in self.of_device(radio) {
            let own = self.setup.devices.affiliation(radio);
            let frequency_mhz = own.frequency_mhz.unwrap_or(antenna.frequency_mhz);
            let antenna = Antenna {
                frequency_mhz,
                ..antenna
            };
            self.space.fit(radio, antenna);
        }
    }

    /// From now on the radio is on this channel, and hears no other.
    pub fn tune(&mut self, radio: RadioId, channel: Mhz) {
        self.space.tune(radio, channel);
    }

    /// From now on the radio is on this channel, and hears no other; its propagation stays that of
    /// [`Propagation::frequency_mhz`](crate::Propagation). What it was receiving it loses; what it
    /// sensed keeps it silent until that ends, and no longer than a frame.
    pub fn place_on(&mut self, radio: RadioId, channel: Mhz) {
        if self.space.place_on(radio, channel) {
            self.radios[radio].leave_channel();
            self.radios[radio].subchannels = self.space.subchannels(radio);
        }
    }

    /// From now on the radio sends and receives on this much of its channel at most (see
    /// [`Block`](crate::Block)).
    pub fn narrow(&mut self, radio: RadioId, widest: Width) {
        self.space.narrow(radio, widest);
        self.radios[radio].subchannels = self.space.subchannels(radio);
    }

    /// The radio's channel; none where all have the same.
    pub fn subchannels(&self, radio: RadioId) -> Option<Subchannels> {
        self.space.subchannels(radio)
    }

    /// From now on an access category of the radio contends like this, and not by
    /// [`Params`](crate::Params). Without categories it means nothing.
    pub fn contend_by(&mut self, radio: RadioId, category: Category, params: CategoryParams) {
        for radio in self.of_device(radio) {
            self.radios[radio].contend_by(category, params, &self.setup);
        }
    }

    /// From now on the radio hears only those of the same medium, and they it.
    pub fn assign(&mut self, radio: RadioId, medium: MediumId) {
        for radio in self.of_device(radio) {
            self.space.assign(radio, medium);
        }
    }

    pub fn antenna(&self, radio: RadioId) -> Antenna {
        self.space.antenna(radio)
    }

    /// From now on powers are those of [`Medium::set_rssi`], and this where it says nothing;
    /// positions count no more.
    pub fn set_rssi_of_all(&mut self, dbm: Dbm) {
        self.space.set_rssi_of_all(dbm);
    }

    /// From now on links have these powers at times, linear between them; other links carry
    /// nothing, and positions count no more.
    pub fn set_rssi_traces(&mut self, traces: Vec<(LinkId, Vec<(Instant, Dbm)>)>) {
        self.space.set_rssi_traces(traces);
    }

    /// From now on the link has this power; false where positions decide.
    pub fn set_rssi(&mut self, link: LinkId, dbm: Dbm) -> bool {
        self.space.set_rssi(link.from, link.to, dbm)
    }

    /// From now on what is drawn follows from another seed too. A draw that an access waits for
    /// stays, and so does shadowing.
    pub fn reseed(&mut self, seed: u64) {
        for radio in self.radios.ids() {
            self.radios[radio].reseed(seed);
        }
        self.links.reseed(seed);
        self.losses.reseed(seed);
    }

    /// From now on frames of this link are lost with this probability, instead of what was said of
    /// just this link before; 0 for none.
    pub fn set_loss(&mut self, link: LinkId, rate: f64) {
        self.losses.set(link, rate, self.now);
    }
}
