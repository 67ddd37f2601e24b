// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A recipient's block ack agreements, one with each sender and TID.

use alloc::vec::Vec;

use hoplab_base::{Duration, Instant};

use super::effect::{Effect, Effects, Timer, Wake};
use super::reorder::{Arrival, BlockAck, Reorder};
use super::{Arrived, Setup};
use crate::{FrameId, RadioId};

/// How long Linux's receivers wait for a frame that others came after (mac80211's
/// HT_RX_REORDER_BUF_TIMEOUT).
const REORDER_TIMEOUT: Duration = Duration::from_millis(100);

struct Agreement {
    from: RadioId,
    tid: u8,
    reorder: Reorder,
}

#[derive(Default)]
pub struct Agreements {
    all: Vec<Agreement>,
    /// Frames that were held, and whose acknowledgement broke off with the radio.
    orphans: Vec<FrameId>,
}

impl Agreements {
    fn reorder(&mut self, from: RadioId, tid: u8, setup: &Setup) -> &mut Reorder {
        let key = |agreement: &Agreement| (agreement.from, agreement.tid);
        let found = self.all.binary_search_by_key(&(from, tid), key);
        let at = found.unwrap_or_else(|at| {
            let reorder = Reorder::new(setup.window(), !setup.hosts_agree());
            self.all.insert(at, Agreement { from, tid, reorder });
            at
        });
        &mut self.all[at].reorder
    }

    /// A frame of an agreement has come. `lost` is whether an error above the MAC takes it.
    pub fn receive(
        &mut self,
        sender: RadioId,
        (tid, sequence): (u8, u64),
        (arrived, lost): (Arrived, bool),
        now: Instant,
        setup: &Setup,
    ) -> Arrival {
        let reorder = self.reorder(sender, tid, setup);
        reorder.receive(sequence, arrived, lost, now)
    }

    /// Whether this frame of an agreement has come before.
    pub fn repeats(&mut self, from: RadioId, (tid, sequence): (u8, u64), setup: &Setup) -> bool {
        self.reorder(from, tid, setup).has(sequence)
    }

    /// A sender asks which frames have come, and has given up those missing before `start`.
    pub fn asked(&mut self, from: RadioId, (tid, start): (u8, u64), setup: &Setup) {
        self.reorder(from, tid, setup).move_to(start);
    }

    /// The BlockAck for a sender, and the frames that the host gets now. Frames that still wait are
    /// held.
    pub fn answer(
        &mut self,
        from: RadioId,
        tid: u8,
        now: Instant,
        setup: &Setup,
        effects: &mut Effects,
    ) -> (BlockAck, Vec<Arrived>) {
        let reorder = self.reorder(from, tid, setup);
        let block_ack = reorder.block_ack();
        let before = effects.len();
        let hold = |arrived: &Arrived| effects.push(Effect::Hold(arrived.frame));
        let released = reorder.take_released(hold);
        if effects.len() > before {
            // One generation is enough: each wake-up releases what has waited long, and leaves the
            // rest.
            effects.push(Effect::Wake(Wake {
                at: now + REORDER_TIMEOUT,
                timer: Timer::Reorder,
                generation: 0,
            }));
        }
        (block_ack, released)
    }

    /// Frames that have waited long for one before them go to the host of radio `to`.
    pub fn release_waiting(&mut self, to: RadioId, now: Instant, effects: &mut Effects) {
        for Agreement { reorder, .. } in &mut self.all {
            // Whatever waits is held already, as each reception ends with `answer`. So there is
            // nothing to hold.
            reorder.expire(now - REORDER_TIMEOUT);
            let released = reorder.take_released(|_| ()).into_iter();
            effects.extend(released.map(|arrived| Effect::HandUp { to, arrived }));
        }
    }

    /// An acknowledgement will not end. The frames that it would have delivered are lost with the
    /// radio.
    pub fn orphan(&mut self, lost: impl Iterator<Item = Arrived>) {
        let held = lost.filter(|arrived| arrived.held);
        self.orphans.extend(held.map(|arrived| arrived.frame));
    }

    /// The radio has gone off: its host gets none of what waits.
    pub fn abandon(&mut self, effects: &mut Effects) {
        effects.extend(self.orphans.drain(..).map(Effect::Release));
        for Agreement { reorder, .. } in &mut self.all {
            let held = reorder.forget();
            effects.extend(held.map(|arrived| Effect::Release(arrived.frame)));
        }
    }
}
