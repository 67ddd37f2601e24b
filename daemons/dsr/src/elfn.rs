// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hands segments that met a broken link to the kernel module `elfn` (kernel-modules/elfn,
//! docs/elfn.md). The module makes their connections stand by.

use crate::error::Error;
use hoplab_dsr_elfn::LostSegment;
use hoplab_linux::netlink::Netlink;
use hoplab_station::nl80211::answer;
use hoplab_wire::netlink::{family_id, Batch};

const VERSION: u8 = 1;
const NOTICE: u8 = 2;
const RECORDS: u16 = 8;
/// Most records that the module takes with one notice.
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

    pub fn tell(&self, segments: &[LostSegment]) {
        for some in segments.chunks(AT_ONCE) {
            let mut records = Vec::new();
            for segment in some {
                segment.emit(&mut records);
            }
            let mut batch = Batch::default();
            batch.begin(self.family, 0, NOTICE, VERSION, 0);
            batch.attribute(RECORDS, &records);
            batch.end();
            // A notice that the kernel does not take is like one that was lost on its way.
            let _ = self.netlink.send(&batch.take());
        }
    }
}
