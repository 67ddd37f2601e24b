// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Control frames of an access point to several stations, as captures have them. The engine tells of
//! each station's part by itself.

use std::collections::BTreeMap;

use hoplab_medium_core::{
    Aired, Asked, Category, Dbm, Guard, Modulation, Phy, Portion, RadioId, To, Width,
};
use hoplab_wire::ieee80211::{Control, Frame};
use hoplab_wire::trigger::{Acknowledged, Asks, BlockAcks, BufferStatus, Of, Trigger, User};
use hoplab_wire::Mac;

use crate::sequences::{Sequences, BLOCK_ACK_BYTES};
use crate::units;

/// Octets of a BlockAck to several stations, FCS included: without users, and for each but his bitmap
/// (802.11ax-2021 9.3.1.8.6).
const MULTI_STA_BYTES: usize = 22;
const MULTI_STA_USER_BYTES: usize = 4;

/// What of stations is known that their frames do not say themselves.
pub struct Triggers {
    phy: Phy,
    power_dbm: Dbm,
    /// Association identifier of each client.
    associations: BTreeMap<RadioId, u16>,
    /// Which of the channel's units each client had last.
    units: BTreeMap<RadioId, usize>,
    /// Parts of a frame whose others follow.
    parts: Vec<Aired>,
}

impl Triggers {
    pub fn new(phy: Phy, power_dbm: Dbm) -> Self {
        Self {
            phy,
            power_dbm,
            associations: BTreeMap::new(),
            units: BTreeMap::new(),
            parts: Vec::new(),
        }
    }

    /// An access point has sent this frame to a station: perhaps it takes it in.
    pub fn learn(&mut self, aired: &Aired, frame: &[u8]) {
        let id = Frame::new(frame).and_then(|frame| frame.association_id());
        if let (Some(id), To::Radio(to)) = (id, aired.to) {
            self.associations.insert(to, id);
        }
    }

    /// Association identifier of the receiver.
    pub fn association(&self, aired: &Aired) -> Option<u16> {
        match aired.to {
            To::Radio(to) => self.associations.get(&to).copied(),
            To::Everyone | To::Nobody => None,
        }
    }

    /// Which of the channel's units of its size carried this, if one did.
    pub fn unit(&self, aired: &Aired) -> Option<usize> {
        aired.rate.scheme()?.unit?;
        match aired.triggered {
            true => self.units.get(&aired.from).copied(),
            false => aired.share.map(|share| share.number.into()),
        }
    }

    /// The frame to several stations of which this is the last part. None for another, and as long as
    /// one of them is not known.
    pub fn control(
        &mut self,
        aired: &Aired,
        macs: &[Mac],
        known: &mut Sequences,
    ) -> Option<Vec<u8>> {
        let share = aired.share.unwrap_or(Portion {
            number: 0,
            users: 1,
        });
        if share.number == 0 {
            self.parts.clear();
        }
        self.parts.push(*aired);
        if self.parts.len() < usize::from(share.users) {
            return None;
        }
        let parts = core::mem::take(&mut self.parts);
        let mac = |radio: RadioId| macs[radio.index()];
        let transmitter = mac(aired.from);
        let duration_us = u16::try_from(aired.nav.as_micros_ceil()).unwrap_or(u16::MAX);
        let Some(asked) = aired.asks else {
            let users = parts.iter().map(|part| self.acknowledged(part, known));
            let users = users.collect::<Option<_>>()?;
            return Some(BlockAcks { transmitter, users }.emit(duration_us));
        };
        let users = parts.iter().map(|part| self.user(part, mac, known));
        let mut users = users.collect::<Option<Vec<_>>>()?;
        // Those of EHT have a special user field (802.11be-2024 9.3.1.22.3).
        let Modulation::He(scheme) = asked.rate.modulation() else {
            return None;
        };
        if scheme.unit.is_none() {
            one_behind_the_other(&mut users);
        }
        let streams = users.iter().map(|user| user.first_stream + user.streams);
        let streams = streams.max().unwrap_or(1);
        let trigger = Trigger {
            transmitter,
            asks: match asked.what {
                Asked::Frames => Asks::Frames,
                Asked::BlockAck => Asks::BlockAcks,
                Asked::BufferStatus => Asks::BufferStatus,
                Asked::Report => Asks::Reports,
            },
            length: self.phy.triggered_length(asked.lasts),
            // Those that it asks for a BlockAck answer in any case.
            carrier_sense: asked.what != Asked::BlockAck,
            bandwidth: units::bandwidth(scheme.width),
            guard: if scheme.guard == Guard::Ns3200 { 2 } else { 1 },
            trainings: [0, 1, 2, 2, 3, 3, 4, 4][usize::from(streams.clamp(1, 8)) - 1],
            power_dbm: self.power_dbm(scheme.width),
            users,
        };
        Some(trigger.emit(duration_us))
    }

    /// What the access point's power is on 20 MHz of its channel.
    fn power_dbm(&self, width: Width) -> i8 {
        let channels = f64::from(width.mhz() / Width::Mhz20.mhz());
        let power = Dbm::from_mw(self.power_dbm.mw() / channels);
        power.rounded().clamp(-20, 40) as i8
    }

    /// A station, which answers on the next unit.
    fn user(
        &mut self,
        part: &Aired,
        mac: impl Fn(RadioId) -> Mac,
        known: &mut Sequences,
    ) -> Option<User> {
        let To::Radio(to) = part.to else { return None };
        let asks = part.asks?;
        let scheme = asks.rate.scheme()?;
        let number = part.share.map_or(0, |share| share.number.into());
        self.units.insert(to, number);
        let (unit, is_secondary) = units::allocation(scheme.unit, scheme.width, number);
        let receiver = mac(to);
        let of = match asks.what {
            Asked::Frames => Of::Category(aci(part.function)),
            Asked::BufferStatus => Of::All,
            Asked::Report => Of::Segments,
            Asked::BlockAck => match known.control(part, receiver, mac(part.from))? {
                Control::BlockAckRequest(of) => Of::Agreement {
                    tid: of.tid,
                    sequence: of.sequence,
                },
                _ => return None,
            },
        };
        Some(User {
            receiver,
            association: self.association(part)?,
            unit,
            is_secondary,
            mcs: scheme.mcs,
            streams: scheme.streams,
            first_stream: 0,
            of,
        })
    }

    fn acknowledged(&self, part: &Aired, known: &mut Sequences) -> Option<Acknowledged> {
        let users = part.share.map_or(1, |share| usize::from(share.users));
        let of_user = part.bytes.checked_sub(MULTI_STA_BYTES)? / users;
        let alone = Aired {
            bytes: of_user.checked_sub(MULTI_STA_USER_BYTES)? + BLOCK_ACK_BYTES,
            ..*part
        };
        match known.control(&alone, Mac::BROADCAST, Mac::BROADCAST)? {
            Control::BlockAck(of, bitmap) => Some(Acknowledged {
                association: self.association(part)?,
                tid: of.tid,
                sequence: of.sequence,
                bitmap,
            }),
            _ => None,
        }
    }
}

/// Users of the whole channel have streams of their own (MU-MIMO).
fn one_behind_the_other(users: &mut [User]) {
    let mut next = 0;
    for user in users {
        user.first_stream = next;
        next = (next + user.streams).min(7);
    }
}

/// What a station answers to a poll of its queues.
pub fn buffer_status(aired: &Aired, receiver: Mac, transmitter: Mac) -> Option<BufferStatus> {
    let octets = aired.waiting?;
    let category = aci(aired.function);
    // The first user priority of each category (table 10-1).
    let tid = [0, 1, 4, 6][usize::from(category)];
    Some(BufferStatus {
        receiver,
        transmitter,
        tid,
        category,
        octets,
    })
}

/// The number of an access function's category (ACI, 9.4.2.28).
fn aci(function: u8) -> u8 {
    match Category::ALL.get(usize::from(function)) {
        Some(Category::Voice) => 3,
        Some(Category::Video) => 2,
        Some(Category::Background) => 1,
        Some(Category::BestEffort) | None => 0,
    }
}
