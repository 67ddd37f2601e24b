// SPDX-License-Identifier: Apache-2.0
//! `mac80211_hwsim` of this kernel, over generic netlink.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use hoplab_channel::dot11;
use hoplab_channel::hosts::{Heard, Hosts, Sent, Status, Troubles, LONGEST_FRAME};
use hoplab_channel::rates;
use hoplab_linux::calls::{self, Call};
use hoplab_linux::netlink::{is_overrun, Inbox, Netlink, LONGEST_WAIT};
use hoplab_linux::{kernel, signals, wait, Interest};
use hoplab_medium_core::{Duration, Instant, RadioId};
use hoplab_wire::netlink::{family_id, Attributes, Batch};
use hoplab_wire::Mac;
use serde_json::{json, Value};

use super::addresses::Addresses;
use super::messages::{self, Message, Tried};
use super::{Port, Woken};
use crate::error::Error;

/// Octets from which a batch is sent: the kernel copies a send into one buffer.
const BATCH_OCTETS: usize = 1 << 18;

/// What a status and a delivery repeat of the kernel's frame.
#[derive(Clone)]
pub struct Ticket {
    /// What hwsim calls the sender.
    transmitter: Mac,
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
    pub fn open(macs: &[Mac], others_radios: bool) -> Result<Self, Error> {
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
        let to = delivery.get(messages::ADDR_RECEIVER).map(Mac);
        let Some((radio, other)) = to.and_then(|to| self.addresses.other(to)) else {
            self.troubles.refused_deliveries += 1;
            return;
        };
        messages::deliver_again(
            &mut self.batch,
            self.family,
            delivery,
            other,
            messages::SEQUENCE_AGAIN + radio.index() as u32,
        );
    }

    /// What became of a delivery to the other address of a radio.
    fn answered(&mut self, radio: RadioId, code: i32) {
        if code == 0 {
            self.addresses.reached(radio);
        } else {
            self.troubles.refused_deliveries += 1;
        }
    }

    fn accepted<'a>(&mut self, sent: &messages::Sent<'a>) -> Option<Sent<'a, Ticket>> {
        let header = dot11::parse(sent.frame);
        let named = header.and_then(|header| header.transmitter);
        let Some(radio) = self.addresses.sender(sent.transmitter, named) else {
            self.troubles.unknown_radios += 1;
            return None;
        };
        Some(Sent {
            radio,
            bytes: sent.frame,
            header,
            frequency_mhz: sent.frequency_mhz,
            rates: rates::attempts(&sent.rates, sent.frequency_mhz),
            // Only the guest's kernel tells of its agreements.
            window: 0,
            ticket: Ticket {
                transmitter: sent.transmitter,
                cookie: sent.cookie,
                flags: sent.flags,
                frequency_mhz: sent.frequency_mhz,
                rates: sent.rates.iter().map(|entry| entry.index).collect(),
            },
        })
    }
}

impl Hosts for Hwsim {
    type Ticket = Ticket;
    type Error = Error;

    fn longest_frame(&self) -> usize {
        LONGEST_FRAME
    }

    fn deliver(&mut self, to: RadioId, bytes: &[u8], ticket: &Ticket, heard: Heard) {
        let Some(address) = self.addresses.of(to) else {
            return;
        };
        // Copied for each receiver: the kernel takes a message with its octets in one piece, and many
        // messages by one send.
        messages::deliver(
            &mut self.batch,
            self.family,
            address,
            bytes,
            rates::received_index(heard.rate, ticket.frequency_mhz),
            heard.signal_dbm.rounded(),
            ticket.frequency_mhz,
        );
    }

    fn status(&mut self, ticket: &Ticket, status: &Status) {
        let acked = status.acked && ticket.flags & messages::TX_CTL_NO_ACK == 0;
        let flags = ticket.flags | if acked { messages::TX_STAT_ACK } else { 0 };
        let rates = ticket.rates.iter().zip(&status.tries);
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

    fn flush(&mut self, all: bool) -> Result<(), Error> {
        let enough = if all { 1 } else { BATCH_OCTETS };
        if self.batch.len() < enough {
            return Ok(());
        }
        trying("netlink send", self.netlink.send(&self.batch.take()))
    }

    fn say(&mut self, text: &str) {
        eprintln!("hoplab-medium: {text}");
    }

    fn troubles(&self) -> Troubles {
        self.troubles
    }
}

impl Port for Hwsim {
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

    fn add(&mut self, mac: Mac) {
        self.addresses.add(mac);
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
                            let number = sequence - messages::SEQUENCE_AGAIN;
                            self.answered(RadioId::new(number as usize), code);
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

    fn calls(&self) -> Value {
        json!({
            "wait": Call::Wait.made(),
            "receive": Call::Receive.made(),
            "send": Call::Send.made(),
            "clock": self.clock_readings,
        })
    }
}
