// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an access point knows of its clients with a single radio (EMLSR, 802.11be-2024 35.3.17). It
//! knows on which link they exchange frames, and when they listen again. Its links share that.

use alloc::vec::Vec;

use hoplab_base::Instant;

use crate::RadioId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A TXOP of the access point is under way, in which the client has the whole radio.
    Called,
    /// The client waits for a next frame up to this time.
    Waits(Instant),
    /// It goes back, and listens at this time.
    Returns(Instant),
}

#[derive(Clone, Copy, Debug)]
struct Away {
    client: RadioId,
    /// The access point's radio on the link where the client is.
    with: RadioId,
    state: State,
}

#[derive(Default)]
pub struct Clients {
    /// Those that do not listen.
    away: Vec<Away>,
}

/// None of them is such a device, or all listen.
pub static ALL_LISTEN: Clients = Clients { away: Vec::new() };

impl Clients {
    fn of(&self, client: RadioId) -> Option<&Away> {
        self.away.iter().find(|away| away.client == client)
    }

    fn set(&mut self, away: Away) {
        self.away.retain(|other| other.client != away.client);
        self.away.push(away);
    }

    /// Whether it is in a TXOP of this radio, so that it needs no further call.
    pub fn is_called(&self, client: RadioId, with: RadioId) -> bool {
        let called = |away: &Away| away.with == with && away.state == State::Called;
        self.of(client).is_some_and(called)
    }

    /// Whether a frame of this radio can reach it: it listens, or is on this link.
    pub fn is_there(&self, client: RadioId, with: RadioId) -> bool {
        self.of(client).is_none() || self.is_called(client, with)
    }

    /// This radio calls it to its link.
    pub fn call(&mut self, client: RadioId, with: RadioId) {
        let state = State::Called;
        self.set(Away {
            client,
            with,
            state,
        });
    }

    /// It does not answer the call of this radio. So it seems to listen.
    pub fn is_silent(&mut self, client: RadioId, with: RadioId) {
        if self.is_called(client, with) {
            self.away.retain(|away| away.client != client);
        }
    }

    /// A frame of its own has come to this radio. It waits for a next one up to `until`, unless a
    /// TXOP of this radio goes on. Returns whether that is new.
    pub fn has_sent(&mut self, client: RadioId, with: RadioId, until: Instant) -> bool {
        let is_new = !self.is_called(client, with);
        if is_new {
            let state = State::Waits(until);
            self.set(Away {
                client,
                with,
                state,
            });
        }
        is_new
    }

    /// The TXOP of this radio is over. Its clients wait for a next frame up to `until`. Returns
    /// whether there are such.
    pub fn are_left(&mut self, with: RadioId, until: Instant) -> bool {
        let mut some = false;
        for away in self.of_radio(with) {
            if away.state == State::Called {
                away.state = State::Waits(until);
                some = true;
            }
        }
        some
    }

    /// The time of some of this radio's clients may have come. Those that wait get a frame up to
    /// `busy_until`, or go back and listen when `listens` says. Returns when to look again.
    pub fn look(
        &mut self,
        with: RadioId,
        now: Instant,
        busy_until: Option<Instant>,
        listens: impl Fn(RadioId) -> Instant,
    ) -> Vec<Instant> {
        let mut again = Vec::new();
        for away in self.of_radio(with) {
            if !matches!(away.state, State::Waits(until) if until <= now) {
                continue;
            }
            let back = listens(away.client);
            away.state = busy_until.map_or(State::Returns(back), State::Waits);
            again.push(busy_until.unwrap_or(back));
        }
        let is_back = |away: &Away| matches!(away.state, State::Returns(at) if at <= now);
        self.away.retain(|away| away.with != with || !is_back(away));
        again
    }

    fn of_radio(&mut self, with: RadioId) -> impl Iterator<Item = &mut Away> {
        self.away.iter_mut().filter(move |away| away.with == with)
    }

    /// The radio goes off, or comes up.
    pub fn forget(&mut self) {
        self.away.clear();
    }
}
