// SPDX-License-Identifier: Apache-2.0
//! `mac80211_hwsim` of this kernel, over generic netlink.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use hoplab_linux::calls::{self, Call};
use hoplab_linux::netlink::{is_overrun, Inbox, Netlink, LONGEST_WAIT};
use hoplab_linux::{kernel, signals, wait, Interest};
use hoplab_medium_core::{Attempts, Duration, Instant, Rate, Width, MAX_RATES};
use hoplab_wire::netlink::{family_id, Attributes, Batch};
use serde_json::{json, Value};

use super::addresses::Addresses;
use super::messages::{self, Message, Tried};
use super::{Heard, Port, Sent, Troubles, Woken};
use crate::dot11;
use crate::error::Error;

/// hwsim's rate table: DSSS/CCK, then OFDM; in the 5 GHz band only OFDM.
const RATES: [Rate; 12] = Rate::LEGACY;
const FIRST_OFDM: usize = 4;
/// The kernel's IEEE80211_MAX_DATA_LEN: hwsim drops a longer frame, header included, on its way to
/// the receiver.
const LONGEST_FRAME: usize = 2304;

/// What a status and a delivery repeat of the kernel's frame.
pub struct Ticket {
    /// What hwsim calls the sender.
    transmitter: [u8; 6],
    cookie: u64,
    flags: u32,
    frequency_mhz: u32,
    /// The kernel's indexes of the frame's rates.
    rates: Vec<u8>,
}

pub struct Hwsim {
    netlink: Netlink,
    /// Away while its messages are handed out.
    inbox: Option<Inbox>,
    family: u16,
    addresses: Addresses,
    batch: Batch,
    virtual_time: bool,
    other: Option<OwnedFd>,
    troubles: Troubles,
    clock_readings: u64,
}

/// `result`, whose error says what was called.
fn trying<T>(call: &'static str, result: io::Result<T>) -> Result<T, Error> {
    result.map_err(|why| Error::Netlink { call, why })
}

fn request(netlink: &Netlink, batch: &mut Batch) -> Result<Vec<u8>, Error> {
    trying("netlink send", netlink.send(&batch.take()))?;
    let mut inbox = Inbox::new();
    trying("netlink", netlink.receive(&mut inbox, true))?;
    let answer = inbox.datagrams().next().flatten();
    Ok(answer.ok_or(Error::Silent)?.to_vec())
}

fn find_family(netlink: &Netlink) -> Result<u16, Error> {
    let mut batch = Batch::default();
    batch.get_family(messages::FAMILY_NAME);
    let answer = request(netlink, &mut batch)?;
    family_id(&answer).ok_or(Error::NoHwsim)
}

fn register(netlink: &Netlink, family: u16) -> Result<(), Error> {
    let mut batch = Batch::default();
    messages::register(&mut batch, family);
    let answer = request(netlink, &mut batch)?;
    match messages::parse(&answer).first() {
        Some(Message::Ack { code: 0, .. }) => Ok(()),
        Some(Message::Ack { code, .. }) => Err(Error::Registration(io::Error::from_raw_os_error(
            code.saturating_neg(),
        ))),
        _ => Err(Error::Answer),
    }
}

impl Hwsim {
    /// Become the medium of the kernel's radios; `macs` are their permanent addresses or, with
    /// `others_radios`, those that their frames name.
    pub fn open(macs: &[[u8; 6]], others_radios: bool) -> Result<Self, Error> {
        let netlink = trying("netlink socket", Netlink::open())?;
        let family = find_family(&netlink)?;
        register(&netlink, family)?;
        netlink.enlarge_buffers();
        calls::forget();
        signals::catch();
        Ok(Self {
            netlink,
            inbox: Some(Inbox::new()),
            family,
            addresses: Addresses::new(macs, others_radios),
            batch: Batch::default(),
            virtual_time: kernel::in_virtual_time(),
            other: None,
            troubles: Troubles::default(),
            clock_readings: 0,
        })
    }

    /// Returns whether there was something.
    fn receive(&mut self, wait: bool) -> Result<bool, Error> {
        let inbox = self.inbox.get_or_insert_default();
        match self.netlink.receive(inbox, wait) {
            Err(error) if is_overrun(&error) => {
                self.troubles.overruns += 1;
            }
            other => trying("netlink receive", other)?,
        }
        Ok(!inbox.is_empty())
    }

    /// The kernel refused a delivery: it knows no such radio, or the radio is down. One that has not
    /// sent yet may have the other address.
    fn refused(&mut self, delivery: Attributes<'_>) {
        let to = delivery.get(messages::ADDR_RECEIVER);
        let Some((radio, other)) = to.and_then(|to| self.addresses.other(to)) else {
            self.troubles.refused_deliveries += 1;
            return;
        };
        messages::deliver_again(
            &mut self.batch,
            self.family,
            delivery,
            other,
            messages::SEQUENCE_AGAIN + radio as u32,
        );
    }

    /// What became of a delivery to the other address of a radio.
    fn answered(&mut self, radio: usize, code: i32) {
        if code == 0 {
            self.addresses.reached(radio);
        } else {
            self.troubles.refused_deliveries += 1;
        }
    }

    fn accepted<'a>(&mut self, sent: &messages::Sent<'a>) -> Option<Sent<'a, Ticket>> {
        let named = dot11::transmitter(sent.frame).map(|named| named.0);
        let Some(radio) = self.addresses.sender(sent.transmitter, named) else {
            self.troubles.unknown_radios += 1;
            return None;
        };
        let (rates, indexes) = rate_table(sent);
        Some(Sent {
            radio,
            bytes: sent.frame,
            frequency_mhz: sent.frequency_mhz,
            rates,
            ticket: Ticket {
                transmitter: sent.transmitter,
                cookie: sent.cookie,
                flags: sent.flags,
                frequency_mhz: sent.frequency_mhz,
                rates: indexes,
            },
        })
    }
}

impl Port for Hwsim {
    type Ticket = Ticket;

    fn longest_frame(&self) -> usize {
        LONGEST_FRAME
    }

    fn clock(&mut self) -> Instant {
        self.clock_readings += 1;
        kernel::now()
    }

    fn virtual_time(&self) -> bool {
        self.virtual_time
    }

    fn stopped(&self) -> bool {
        signals::stopped()
    }

    fn wait(&mut self, limit: Option<Duration>) -> Result<Woken, Error> {
        if limit.is_none() && self.other.is_none() {
            // With nothing on its way, waiting and receiving are one call.
            let input = self.receive(true)?;
            return Ok(Woken {
                passed: Duration::ZERO,
                input,
                other: false,
            });
        }
        let limit = limit.map_or(LONGEST_WAIT, |limit| limit.min(LONGEST_WAIT));
        let other = self.other.as_ref();
        let other = other.map_or_else(Interest::none, |other| Interest::input(other.as_fd()));
        let mut interest = [Interest::input(self.netlink.as_fd()), other];
        let passed = limit - wait(&mut interest, limit);
        let [input, other] = interest.map(|interest| interest.found().any());
        let input = input && self.receive(false)?;
        Ok(Woken {
            passed,
            input,
            other,
        })
    }

    fn watch(&mut self, other: OwnedFd) {
        self.other = Some(other);
    }

    fn read(&mut self, mut accept: impl FnMut(&mut Self, Sent<'_, Ticket>)) {
        let Some(mut inbox) = self.inbox.take() else {
            return;
        };
        for datagram in inbox.datagrams() {
            let Some(bytes) = datagram else {
                self.troubles.malformed += 1;
                continue;
            };
            for message in messages::parse(bytes) {
                match message {
                    Message::Frame(sent) => {
                        if let Some(sent) = self.accepted(&sent) {
                            accept(self, sent);
                        }
                    }
                    Message::Malformed => self.troubles.malformed += 1,
                    // A radio that has gone, or is down, refuses its frame: not an error.
                    Message::Ack {
                        code,
                        sequence,
                        request,
                    } => match sequence {
                        messages::SEQUENCE_DELIVER => self.refused(request),
                        messages::SEQUENCE_STATUS => self.troubles.refused_statuses += 1,
                        messages::SEQUENCE_AGAIN.. => {
                            self.answered((sequence - messages::SEQUENCE_AGAIN) as usize, code);
                        }
                        _ => {}
                    },
                    Message::Unknown => {}
                }
            }
        }
        inbox.clear();
        self.inbox = Some(inbox);
    }

    fn deliver(&mut self, to: usize, bytes: &[u8], ticket: &Ticket, heard: Heard) {
        let Some(address) = self.addresses.of(to) else {
            return;
        };
        // hwsim takes nothing else: to the receiver's kernel an HT or VHT frame came at its non-HT
        // reference rate.
        let like = heard.rate.reference();
        let rate = RATES.iter().position(|rate| *rate == like);
        let first = first_rate(ticket.frequency_mhz);
        messages::deliver(
            &mut self.batch,
            self.family,
            address,
            bytes,
            rate.unwrap_or(0).saturating_sub(first) as u32,
            heard.signal_dbm.round() as i32,
            ticket.frequency_mhz,
        );
    }

    fn status(&mut self, ticket: &Ticket, acked: bool, tries: &[u32; MAX_RATES]) {
        let acked = acked && ticket.flags & messages::TX_CTL_NO_ACK == 0;
        let flags = ticket.flags | if acked { messages::TX_STAT_ACK } else { 0 };
        let rates = ticket.rates.iter().zip(tries);
        let table: Vec<Tried> = rates
            .map(|(&index, &times)| Tried { index, times })
            .collect();
        messages::status(
            &mut self.batch,
            self.family,
            ticket.transmitter,
            flags,
            ticket.cookie,
            &table,
        );
    }

    fn unsent(&self) -> usize {
        self.batch.len()
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.batch.is_empty() {
            return Ok(());
        }
        trying("netlink send", self.netlink.send(&self.batch.take()))
    }

    fn troubles(&self) -> Troubles {
        self.troubles
    }

    fn calls(&self) -> Value {
        json!({
            "wait": Call::Wait.made(),
            "receive": Call::Receive.made(),
            "send": Call::Send.made(),
            "clock": self.clock_readings,
        })
    }
}

fn first_rate(frequency_mhz: u32) -> usize {
    if frequency_mhz > 4000 {
        FIRST_OFDM
    } else {
        0
    }
}

/// The rate of a row of the kernel's table, as it is counted from `first` on; none if it is not
/// modelled.
fn rate_of(entry: &messages::RateEntry, first: usize) -> Option<Rate> {
    let has = |flag| entry.flags & flag != 0;
    let width = match (has(messages::RC_40_MHZ), has(messages::RC_80_MHZ)) {
        _ if has(messages::RC_160_MHZ) => return None,
        (_, true) => Width::Mhz80,
        (true, false) => Width::Mhz40,
        (false, false) => Width::Mhz20,
    };
    let short_guard = has(messages::RC_SHORT_GUARD);
    if has(messages::RC_VHT) {
        let (mcs, streams) = (entry.index & 0xf, (entry.index >> 4) + 1);
        return Rate::vht(mcs, streams, width, short_guard);
    }
    if has(messages::RC_HT) {
        return Rate::ht(entry.index, width, short_guard);
    }
    RATES.get(usize::from(entry.index) + first).copied()
}

/// The frame's rates for the engine, and the kernel's indexes of them; none if one of them is not
/// modelled.
fn rate_table(sent: &messages::Sent<'_>) -> (Vec<Attempts>, Vec<u8>) {
    let first = first_rate(sent.frequency_mhz);
    let mut rates = Vec::new();
    let mut indexes = Vec::new();
    for entry in &sent.rates {
        let Some(rate) = rate_of(entry, first) else {
            return (Vec::new(), indexes);
        };
        rates.push(Attempts {
            rate,
            tries: entry.tries.into(),
            rts: entry.flags & messages::RC_USE_RTS_CTS != 0,
        });
        indexes.push(entry.index);
    }
    (rates, indexes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the kernel's `mac80211_hwsim.h`: MCS 8, 40 MHz 32, short guard interval 128, VHT
    /// 256, 80 MHz 512, 160 MHz 1024; VHT's index has the streams less one above its four bits.
    #[test]
    fn rates_are_read_by_index_and_flags() {
        let found = |index, flags, frequency_mhz| {
            let entry = messages::RateEntry {
                index,
                tries: 1,
                flags,
            };
            rate_of(&entry, first_rate(frequency_mhz))
        };
        assert_eq!(found(0, 0, 2412), Some(Rate::DSSS_1));
        assert_eq!(found(0, 0, 5180), Some(Rate::OFDM_6));
        assert_eq!(found(12, 0, 2412), None);
        assert_eq!(found(7, 8, 5180), Rate::ht(7, Width::Mhz20, false));
        assert_eq!(
            found(15, 8 | 32 | 128, 2412),
            Rate::ht(15, Width::Mhz40, true)
        );
        assert_eq!(found(16, 8, 5180), None);
        let vht = Rate::vht(9, 2, Width::Mhz80, true);
        assert_eq!(found(0x19, 256 | 512 | 128, 5180), vht);
        assert!(vht.is_some());
        assert_eq!(found(0x09, 256, 5180), None);
        assert_eq!(found(0x08, 256 | 1024, 5180), None);
    }
}
