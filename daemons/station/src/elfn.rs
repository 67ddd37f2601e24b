// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hands segments that met a broken link, and destinations that have no route any more, to the
//! kernel module `elfn` (kernel-modules/elfn, docs/elfn.md). Their connections stand by.

use crate::error::Error;
use crate::nl80211::answer;
use hoplab_linux::netlink::Netlink;
use hoplab_routing_core::{Failure, LostSegment};
use hoplab_wire::netlink::{family_id, Batch};

const VERSION: u8 = 1;
const NOTICE: u8 = 2;
const RECORDS: u16 = 8;
const UNREACHABLE: u16 = 25;
/// Most records, or destinations, that the module takes with one notice.
const AT_ONCE: usize = 64;

pub struct Elfn {
    netlink: Netlink,
    family: u16,
}

impl Elfn {
    /// Needs CAP_NET_ADMIN. The module asks it of the process that opened the socket, not of the
    /// one that writes. So the daemon can give up its privileges afterwards.
    pub fn open() -> Result<Self, Error> {
        let netlink = Netlink::open().map_err(Error::Elfn)?;
        let mut batch = Batch::default();
        batch.get_family(b"elfn\0");
        let family = answer(&netlink, &mut batch, family_id).map_err(Error::Elfn)?;
        Ok(Elfn { netlink, family })
    }

    pub fn tell(&self, failure: &Failure) {
        match failure {
            Failure::Segment(segment) => self.segments(&[*segment]),
            Failure::Routes(destinations) => {
                for some in destinations.chunks(AT_ONCE) {
                    let addresses = some.iter().flat_map(|to| to.octets());
                    self.notice(UNREACHABLE, &addresses.collect::<Vec<u8>>());
                }
            }
        }
    }

    pub fn segments(&self, segments: &[LostSegment]) {
        for some in segments.chunks(AT_ONCE) {
            let mut records = Vec::new();
            for segment in some {
                segment.emit(&mut records);
            }
            self.notice(RECORDS, &records);
        }
    }

    fn notice(&self, attribute: u16, what: &[u8]) {
        let mut batch = Batch::default();
        batch.begin(self.family, 0, NOTICE, VERSION, 0);
        batch.attribute(attribute, what);
        batch.end();
        // A notice that the kernel does not take is like one that was lost on its way.
        let _ = self.netlink.send(&batch.take());
    }
}
