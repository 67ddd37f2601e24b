// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A queue of the packet filter: packets that wait for a verdict.

use hoplab_linux::netlink::{is_overrun, Inbox, Netlink, LONGEST_WAIT};
use hoplab_split::Error;
use hoplab_wire::netlink::{Batch, Message, Messages};
use hoplab_wire::nfqueue::{self, Queued};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Packets that wait in the kernel; more pass by.
const MOST: u32 = 4096;
/// Configuration messages of [`nfqueue::listen`], each of which is answered.
const QUESTIONS: usize = 2;

pub struct Queue {
    netlink: Netlink,
    number: u16,
    inbox: Inbox,
    verdicts: Batch,
}

impl Queue {
    /// Needs CAP_NET_ADMIN, now and for each verdict.
    pub fn open(number: u16) -> Result<Self, Error> {
        let fail = |why| Error::Queue { number, why };
        let netlink = Netlink::open_netfilter().map_err(fail)?;
        netlink.enlarge_buffers();
        let mut queue = Queue {
            netlink,
            number,
            inbox: Inbox::new(),
            verdicts: Batch::default(),
        };
        queue.listen().map_err(fail)?;
        Ok(queue)
    }

    fn listen(&mut self) -> io::Result<()> {
        nfqueue::listen(&mut self.verdicts, self.number, MOST);
        self.netlink.send(&self.verdicts.take())?;
        let mut answered = 0;
        while answered < QUESTIONS {
            self.netlink.receive(&mut self.inbox, true)?;
            if self.inbox.is_empty() {
                let wait = LONGEST_WAIT.as_secs_f64();
                let message = format!("the kernel did not answer within {wait} s");
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            for message in self.inbox.datagrams().flatten().flat_map(Messages::new) {
                match message {
                    Message::Ack { code: 0, .. } => answered += 1,
                    Message::Ack { code, .. } => {
                        return Err(io::Error::from_raw_os_error(code.saturating_neg()))
                    }
                    // The rules are there already, as after a daemon that died.
                    _ => {
                        if let Some(queued) = Queued::of(&message) {
                            nfqueue::decide(&mut self.verdicts, self.number, queued.id, true);
                        }
                    }
                }
            }
        }
        self.answer()
    }

    /// Decides about the packets that are there: `passes` says of each whether it may go its way.
    pub fn read(&mut self, mut passes: impl FnMut(Queued<'_>) -> bool) -> Result<(), Error> {
        let number = self.number;
        let fail = |why| Error::Queue { number, why };
        match self.netlink.receive(&mut self.inbox, false) {
            // Packets that the kernel could not hand over it has dropped.
            Err(e) if is_overrun(&e) => {}
            other => other.map_err(fail)?,
        }
        for message in self.inbox.datagrams().flatten().flat_map(Messages::new) {
            if let Some(queued) = Queued::of(&message) {
                let passes = passes(queued);
                nfqueue::decide(&mut self.verdicts, self.number, queued.id, passes);
            }
        }
        self.answer().map_err(fail)
    }

    fn answer(&mut self) -> io::Result<()> {
        if self.verdicts.is_empty() {
            return Ok(());
        }
        self.netlink.send(&self.verdicts.take())
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.netlink.as_fd()
    }
}
