// SPDX-License-Identifier: Apache-2.0
//! The socket at which wmediumd takes changes while the network is in use. It serves one peer at a
//! time, and answers each request before it looks at the next.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};

use hoplab_channel::request::FARTHEST_M;
use hoplab_channel::{Change, Part};
use hoplab_medium::control::{Changes, Received};
use hoplab_medium::Error;
use hoplab_medium_core::{Dbm, LinkId, MediumId, RadioId};
use hoplab_wire::Mac;

use crate::file::{Described, Mode, GAIN_DBI, HEIGHT_M};
use crate::messages::{self, Answer, Request};

pub const PATH: &str = "/var/run/wmediumd.sock";
/// Octets that are read at a time; the longest request has 589.
const ROOM: usize = 4096;

/// The socket; its file goes with it.
pub struct Socket {
    listener: UnixListener,
    peer: Option<UnixStream>,
    /// Of a request that is not whole yet.
    received: Vec<u8>,
    radios: Radios,
}

/// What requests are about.
struct Radios {
    mode: Mode,
    addresses: Vec<Mac>,
    noise: Dbm,
    /// Power of a radio that is added.
    default_power: Dbm,
    /// Probability that a frame from or to such a radio is lost; none where chance does not decide.
    default_loss: Option<f64>,
    /// Power that a radio got by request, and the deviation in dB that comes to it.
    powers: Vec<(Dbm, f64)>,
}

fn failed(why: io::Error) -> Error {
    let path = PATH.into();
    Error::File { path, why }
}

impl Socket {
    pub fn open(described: &Described) -> Result<Self, Error> {
        let _ = fs::remove_file(PATH);
        let listener = UnixListener::bind(PATH).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let powers = described.powers().into_iter().map(|power| (power, 0.0));
        Ok(Self {
            listener,
            peer: None,
            received: Vec::new(),
            radios: Radios {
                mode: described.mode,
                addresses: described.config.macs(),
                noise: described.config.noise_dbm,
                default_power: described.default_power(),
                default_loss: described.default_loss,
                powers: powers.collect(),
            },
        })
    }
}

impl Changes for Socket {
    /// To wait for what comes next, from the peer or from the next one.
    fn descriptor(&self) -> Result<OwnedFd, Error> {
        let copy: io::Result<OwnedFd> = match &self.peer {
            Some(peer) => peer.try_clone().map(Into::into),
            None => self.listener.try_clone().map(Into::into),
        };
        copy.map_err(failed)
    }

    fn receive(&mut self) -> Received {
        let mut received = Received::default();
        let Some(peer) = &mut self.peer else {
            if let Ok((peer, _)) = self.listener.accept() {
                let _ = peer.set_nonblocking(true);
                self.peer = Some(peer);
                self.received.clear();
                received.another = true;
            }
            return received;
        };
        let mut room = [0; ROOM];
        received.another = match peer.read(&mut room) {
            Ok(0) => true,
            Ok(length) => {
                self.received.extend(&room[..length]);
                false
            }
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        };
        while let Some((request, bytes)) = messages::parse(&self.received) {
            let length = bytes.len();
            if let Some((result, index)) = self.radios.obey(request, &mut received) {
                // A peer that has gone needs no answer, and one that takes none goes without.
                let _ = peer.write_all(&messages::answer(bytes, index, result));
            }
            self.received.drain(..length);
        }
        if received.another {
            self.peer = None;
        }
        received
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(PATH);
    }
}

impl Radios {
    /// What the request asks for is added to `received`; returns result and index to answer with.
    fn obey(&mut self, request: Request, received: &mut Received) -> Option<(Answer, i32)> {
        let mut index = -1;
        let result = match request {
            Request::End => {
                received.end = true;
                return None;
            }
            Request::Add(address) => match self.radio(address) {
                Some(radio) => {
                    index = radio.index() as i32;
                    Answer::Duplicate
                }
                None if self.addresses.len() >= MOST_RADIOS => Answer::WrongMode,
                None => {
                    index = self.add(address, received);
                    Answer::Done
                }
            },
            other => match self.change(other) {
                Ok(change) => {
                    received.changes.push(change);
                    Answer::Done
                }
                Err(reason) => reason,
            },
        };
        Some((result, index))
    }

    /// A radio that comes while the network is in use: to all others it is as the file's default says.
    fn add(&mut self, mac: Mac, received: &mut Received) -> i32 {
        let radio = RadioId::new(self.addresses.len());
        self.addresses.push(mac);
        self.powers.push((self.default_power, 0.0));
        received.changes.push(Change::Add { mac });
        if self.mode == Mode::Places {
            let parts = [
                Part::Gain(GAIN_DBI),
                Part::Height(HEIGHT_M),
                self.power(radio),
            ];
            let fits = parts.map(|part| Change::Fit { radio, part });
            received.changes.extend(fits);
        }
        if let Some(rate) = self.default_loss {
            for other in (0..radio.index()).map(RadioId::new) {
                for (from, to) in [(radio, other), (other, radio)] {
                    let link = LinkId { from, to };
                    received.changes.push(Change::Lose { link, rate });
                }
            }
        }
        radio.index() as i32
    }

    fn radio(&self, address: Mac) -> Option<RadioId> {
        let index = self.addresses.iter().position(|known| *known == address);
        index.map(RadioId::new)
    }

    fn change(&mut self, request: Request) -> Result<Change, Answer> {
        let find = |address| self.radio(address).ok_or(Answer::UnknownRadio);
        let link = |from, to| {
            let (from, to) = (find(from)?, find(to)?);
            Ok(LinkId { from, to })
        };
        let only = |mode| match self.mode == mode {
            true => Ok(()),
            false => Err(Answer::WrongMode),
        };
        let fit = |radio, part| Change::Fit { radio, part };
        Ok(match request {
            Request::Snr { from, to, db } => {
                let link = link(from, to)?;
                only(Mode::Snr)?;
                let dbm = self.noise + f64::from(db);
                Change::Level { link, dbm }
            }
            Request::Loss {
                from,
                to,
                probability,
            } => {
                let link = link(from, to)?;
                only(Mode::Probability)?;
                let rate = probability;
                Change::Lose { link, rate }
            }
            Request::Losses { from, to } => {
                link(from, to)?;
                return Err(Answer::WrongMode);
            }
            Request::Remove(address) => Change::Power {
                radio: find(address)?,
                up: false,
            },
            Request::RemoveIndex(index) => {
                let radio = usize::try_from(index).ok();
                let radio = radio.filter(|radio| *radio < self.addresses.len());
                Change::Power {
                    radio: RadioId::new(radio.ok_or(Answer::UnknownRadio)?),
                    up: false,
                }
            }
            Request::Place(address, place) => {
                let radio = find(address)?;
                only(Mode::Places)?;
                let known = [place.x_m, place.y_m, place.z_m];
                if !known.iter().all(|metres| metres.abs() <= FARTHEST_M) {
                    return Err(Answer::WrongMode);
                }
                Change::Put { radio, place }
            }
            Request::Gain(address, dbi) => fit(find(address)?, Part::Gain(dbi.into())),
            Request::Height(address, metres) => fit(find(address)?, Part::Height(metres.into())),
            Request::Medium(address, medium) => Change::Assign {
                radio: find(address)?,
                medium: MediumId(medium),
            },
            Request::Power(address, power) => {
                let radio = find(address)?;
                self.powers[radio.index()].0 = power;
                fit(radio, self.power(radio))
            }
            Request::Deviation(address, db) if db.is_finite() => {
                let radio = find(address)?;
                self.powers[radio.index()].1 = db;
                fit(radio, self.power(radio))
            }
            Request::Deviation(..) | Request::End | Request::Add(_) | Request::Unknown => {
                return Err(Answer::WrongMode)
            }
        })
    }

    fn power(&self, radio: RadioId) -> Part {
        let (power, deviation) = self.powers[radio.index()];
        Part::Power(power + deviation)
    }
}

/// Records have a number for each pair of radios, so a peer must not add radios without end.
const MOST_RADIOS: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Mac = Mac([2, 0, 0, 0, 0, 0]);
    const SECOND: Mac = Mac([2, 0, 0, 0, 1, 0]);

    fn radios(mode: Mode) -> Radios {
        Radios {
            mode,
            addresses: vec![FIRST, SECOND],
            noise: Dbm(-91.0),
            default_power: Dbm(20.0),
            default_loss: (mode == Mode::Probability).then_some(0.25),
            powers: vec![(Dbm(14.0), 0.0); 2],
        }
    }

    fn obeyed(radios: &mut Radios, request: Request) -> (Answer, Vec<Change>) {
        let mut received = Received::default();
        let (result, _) = radios.obey(request, &mut received).expect("an answer");
        (result, received.changes)
    }

    #[test]
    fn a_deviation_comes_to_the_power() {
        let mut radios = radios(Mode::Places);
        let part = |part| {
            vec![Change::Fit {
                radio: RadioId::new(1),
                part,
            }]
        };
        let told = obeyed(&mut radios, Request::Deviation(SECOND, -1.5));
        assert_eq!(told, (Answer::Done, part(Part::Power(Dbm(12.5)))));
        let told = obeyed(&mut radios, Request::Power(SECOND, Dbm(20.0)));
        assert_eq!(told, (Answer::Done, part(Part::Power(Dbm(18.5)))));
    }

    #[test]
    fn what_another_mode_is_for_is_refused() {
        let snr = Request::Snr {
            from: FIRST,
            to: SECOND,
            db: 20,
        };
        assert_eq!(obeyed(&mut radios(Mode::Places), snr).0, Answer::WrongMode);
        let level = Change::Level {
            link: LinkId {
                from: RadioId::new(0),
                to: RadioId::new(1),
            },
            dbm: Dbm(-71.0),
        };
        assert_eq!(
            obeyed(&mut radios(Mode::Snr), snr),
            (Answer::Done, vec![level])
        );
        let place = Request::Place(FIRST, Default::default());
        assert_eq!(obeyed(&mut radios(Mode::Snr), place).0, Answer::WrongMode);
    }

    #[test]
    fn who_is_not_there_is_told() {
        let mut radios = radios(Mode::Places);
        let stranger = Mac([9; 6]);
        assert_eq!(
            obeyed(&mut radios, Request::Power(stranger, Dbm(1.0))).0,
            Answer::UnknownRadio
        );
        assert_eq!(
            obeyed(&mut radios, Request::RemoveIndex(2)).0,
            Answer::UnknownRadio
        );
        assert_eq!(
            obeyed(&mut radios, Request::RemoveIndex(-1)).0,
            Answer::UnknownRadio
        );
        assert_eq!(
            obeyed(&mut radios, Request::Add(FIRST)).0,
            Answer::Duplicate
        );
    }

    #[test]
    fn a_peer_cannot_add_radios_without_end() {
        let mut radios = radios(Mode::Snr);
        let mut add = |number: usize| {
            let [.., high, low] = number.to_be_bytes();
            obeyed(&mut radios, Request::Add(Mac([2, 9, 0, 0, high, low]))).0
        };
        for number in 2..MOST_RADIOS {
            assert_eq!(add(number), Answer::Done);
        }
        assert_eq!(add(MOST_RADIOS), Answer::WrongMode);
    }

    #[test]
    fn a_radio_that_is_added_is_as_the_file_says_of_all() {
        const THIRD: Mac = Mac([2, 0, 0, 0, 2, 0]);
        let third = RadioId::new(2);
        let added = |mode| {
            let mut radios = radios(mode);
            let mut received = Received::default();
            let answer = radios.obey(Request::Add(THIRD), &mut received);
            assert_eq!(answer, Some((Answer::Done, 2)));
            let again = radios.obey(Request::Add(THIRD), &mut received);
            assert_eq!(again, Some((Answer::Duplicate, 2)));
            let power = obeyed(&mut radios, Request::Power(THIRD, Dbm(7.0)));
            let fit = Change::Fit {
                radio: third,
                part: Part::Power(Dbm(7.0)),
            };
            assert_eq!(power, (Answer::Done, vec![fit]));
            received.changes
        };
        let add = Change::Add { mac: THIRD };
        assert_eq!(added(Mode::Snr), [add]);
        let fit = |part| Change::Fit { radio: third, part };
        let parts = [Part::Gain(5.0), Part::Height(1.0), Part::Power(Dbm(20.0))];
        let placed: Vec<Change> = [add].into_iter().chain(parts.map(fit)).collect();
        assert_eq!(added(Mode::Places), placed);
        let lose = |from, to| Change::Lose {
            link: LinkId {
                from: RadioId::new(from),
                to: RadioId::new(to),
            },
            rate: 0.25,
        };
        assert_eq!(
            added(Mode::Probability),
            [add, lose(2, 0), lose(0, 2), lose(2, 1), lose(1, 2)]
        );
    }
}
