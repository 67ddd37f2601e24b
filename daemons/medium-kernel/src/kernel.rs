// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the C part offers (`kernel-modules/guest/abi.h`), as hosts of the channel.

use hoplab_abi::{hoplab_medium_deliver, hoplab_medium_died, hoplab_medium_status, RATES};
use hoplab_channel::hosts::{Heard, Hosts, Status, Troubles, LONGEST_FRAME};
use hoplab_channel::{rates, Error};
use hoplab_medium_core::{RadioId, MAX_RATES};
use hoplab_wire::Mac;

const _: () = assert!(RATES == MAX_RATES);

fn told(ticket: &Ticket, status: &Status) -> hoplab_abi::Status {
    let aggregate = status.agreement.aggregate;
    hoplab_abi::Status {
        cookie: ticket.cookie,
        airtime_ns: status.airtime.as_nanos(),
        // Of an A-MPDU the kernel counts the tries once, not with each of its frames.
        tries: aggregate.map_or(status.tries, |aggregate| aggregate.tries),
        frames: aggregate.map_or(0, |aggregate| aggregate.frames as u32),
        frames_acked: aggregate.map_or(0, |aggregate| aggregate.acked as u32),
        gap: status.agreement.gap.map_or(-1, i32::from),
        acked: status.acked,
    }
}

/// What a status and a delivery repeat of the kernel's frame.
#[derive(Clone, Debug)]
pub struct Ticket {
    pub radio: RadioId,
    pub cookie: u64,
    pub frequency_mhz: u32,
}

/// The kernel's radios; `said` collects messages.
pub struct Kernel {
    /// Address of each radio.
    macs: Vec<Mac>,
    pub said: Vec<String>,
    pub troubles: Troubles,
}

impl Kernel {
    pub fn new(macs: Vec<Mac>) -> Self {
        Self {
            macs,
            said: Vec::new(),
            troubles: Troubles::default(),
        }
    }

    /// The radio of this address; none for one that the document does not name.
    pub fn radio(&self, address: Mac) -> Option<RadioId> {
        let at = self.macs.iter().position(|mac| *mac == address);
        at.map(RadioId::new)
    }
}

impl Hosts for Kernel {
    type Ticket = Ticket;
    type Error = Error;

    fn longest_frame(&self) -> usize {
        LONGEST_FRAME
    }

    fn deliver(&mut self, to: RadioId, bytes: &[u8], ticket: &Ticket, heard: Heard) {
        // Copied for each receiver, whose kernel changes and frees its own.
        // SAFETY: C copies the octets, whose number is that of the slice, and the address.
        unsafe {
            hoplab_medium_deliver(
                &raw const self.macs[to.index()].0,
                bytes.as_ptr(),
                bytes.len() as u32,
                ticket.frequency_mhz,
                rates::received_index(heard.rate, ticket.frequency_mhz),
                heard.signal_dbm.rounded(),
            );
        }
    }

    fn status(&mut self, ticket: &Ticket, status: &Status) {
        let told = told(ticket, status);
        // SAFETY: C reads both before it returns.
        unsafe {
            hoplab_medium_status(
                &raw const self.macs[ticket.radio.index()].0,
                &raw const told,
            )
        };
    }

    fn flush(&mut self, _all: bool) -> Result<(), Error> {
        Ok(())
    }

    fn say(&mut self, text: &str) {
        self.said.push(text.into());
    }

    fn troubles(&self) -> Troubles {
        self.troubles
    }
}

/// End the guest: its medium is broken.
pub fn die(text: &str) -> ! {
    // SAFETY: C reads that many octets and does not return.
    unsafe { hoplab_medium_died(text.as_ptr(), text.len() as u32) }
}
