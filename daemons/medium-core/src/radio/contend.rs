// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a radio's access functions contend for the channel (IEEE 802.11-2020 10.3.4, 10.23.2).

use hoplab_base::Instant;

use super::{Moment, Radio};
use crate::ofdma::Report;
use crate::parts::{Activity, Effect, Effects, Link, Setup, Wake};
use crate::{Category, CategoryParams, Frame};

/// The access function that wins the channel for polls of queues (`AccessReqAc` of ns-3).
pub(super) const BSRP_FUNCTION: usize = Category::BestEffort as usize;

impl Radio {
    /// The access function that a frame goes by. With its first frame that has a QoS header the
    /// radio is a station with QoS.
    pub(super) fn function_of(&mut self, frame: &Frame, setup: &Setup) -> usize {
        if frame.tid.is_some() {
            self.use_qos(setup);
        }
        setup.function(frame, self.qos)
    }

    /// From now on it is a station with QoS.
    pub(super) fn use_qos(&mut self, setup: &Setup) {
        if core::mem::replace(&mut self.qos, true) {
            return;
        }
        for function in &mut self.functions {
            if let Some(params) = function.params {
                function.access.contend(setup.contention(Some(params)));
            }
        }
    }

    /// From now on a category contends like this. A backoff that is being counted goes on as it was
    /// drawn; the next one has the new window.
    pub fn contend_by(&mut self, category: Category, params: CategoryParams, setup: &Setup) {
        let Some(function) = self.functions.get_mut(category as usize) else {
            return;
        };
        let Some(before) = function.params.replace(params) else {
            // DCF has one function, which has no parameters of a category.
            function.params = None;
            return;
        };
        if self.qos && params != before {
            function.access.contend(setup.contention(Some(params)));
        }
    }

    /// A frame has come to the line of an access function.
    pub(super) fn contend(&mut self, function: usize, at: Moment<'_>, effects: &mut Effects) {
        if self.functions[function].access.at().is_some() || self.holds(function) {
            return;
        }
        let quiet = self.activity() == Activity::Quiet && !self.single.is_deaf();
        let at_once = at.setup.params.rules.may_go_at_once();
        let access = &mut self.functions[function].access;
        access.begin(at.now, &self.sense, &at.setup.timing, quiet, at_once);
        effects.extend(self.count_down(function, at).map(Effect::Wake));
    }

    /// Whether a function has something to send, or stations to ask for something.
    pub(super) fn has_work(&self, function: usize, setup: &Setup) -> bool {
        let link = Link::new(self.id, &self.clients, setup);
        let line = &self.functions[function].line;
        line.has_work(link, setup)
            || self.may_poll(function, setup)
            || self.may_bsrp(function, setup)
    }

    /// There may be something new to send that came by way of another link of the device.
    pub fn offer(&mut self, at: Moment<'_>, effects: &mut Effects) {
        for function in 0..self.functions.len() {
            if self.has_work(function, at.setup) {
                self.use_qos(at.setup);
                self.contend(function, at, effects);
            }
        }
    }

    /// Whether frames that go by this function wait at stations, several or one that is asked alone.
    pub(super) fn may_poll(&self, function: usize, setup: &Setup) -> bool {
        let others = usize::from(!self.asks_alone(setup));
        let mut waiting = self.waiting_for_poll(function);
        self.is_access_point && setup.polls() && waiting.nth(others).is_some()
    }

    /// Stations at which such frames wait, by their place among the reports.
    pub(super) fn waiting_for_poll(
        &self,
        function: usize,
    ) -> impl Iterator<Item = (usize, &Report)> {
        let reports = self.reports.iter().enumerate();
        reports.filter(move |(_, report)| report.function == function && report.octets > 0)
    }

    /// Whether it asks a station for its frames where no other has some. Stations of a cell in which
    /// queues are polled wait to be asked.
    pub(super) fn asks_alone(&self, setup: &Setup) -> bool {
        setup.bsrp().is_some() && self.reports.len() > 1
    }

    /// Whether this function polls queues when it wins the channel.
    pub(super) fn may_bsrp(&self, function: usize, setup: &Setup) -> bool {
        let is_due = self.bsrp_due && function == BSRP_FUNCTION && self.is_access_point;
        is_due && self.asks_alone(setup) && self.unknown(setup).next().is_some()
    }

    /// Stations of which no waiting frames are known, and that answer, by their places.
    pub(super) fn unknown<'a>(
        &'a self,
        setup: &Setup,
    ) -> impl Iterator<Item = (usize, &'a Report)> {
        let most = setup.params.retry_short;
        let reports = self.reports.iter().enumerate();
        reports.filter(move |(_, report)| report.octets == 0 && report.silent < most)
    }

    /// A station is new, or so long has passed since the last poll.
    pub(super) fn bsrp_is_due(&mut self, at: Moment<'_>, effects: &mut Effects) {
        self.bsrp_due = self.power.is_up();
        if self.may_bsrp(BSRP_FUNCTION, at.setup) {
            self.contend(BSRP_FUNCTION, at, effects);
        }
    }

    /// Whether a function is in the midst of its TXOP.
    fn holds(&self, function: usize) -> bool {
        self.txop.function == function && self.txop.is_under_way()
    }

    /// Whether it may count slots: on, with a quiet channel that it hears, nothing to answer and no
    /// answer due.
    fn may_count(&self, now: Instant) -> bool {
        self.power.is_up()
            && !self.single.is_deaf()
            && !self.single.waits(now)
            && self.activity() == Activity::Quiet
            && self.exchange.awaited().is_none()
            && self.exchange.response().is_none()
    }

    /// Let an access function count slots if the channel is idle and there is something to count
    /// for.
    fn count_down(&mut self, number: usize, at: Moment<'_>) -> Option<Wake> {
        let function = &self.functions[number];
        if function.access.at().is_some()
            || at.now < function.held_until
            || !(function.access.needs_backoff() || self.has_work(number, at.setup))
            || self.holds(number)
            || !self.may_count(at.now)
        {
            return None;
        }
        let timing = &at.setup.timing;
        let wait = at.setup.params.rules.wait_after_draw(timing);
        let access = &mut self.functions[number].access;
        access.count(at.now, &self.sense, timing, wait)
    }

    /// Let all of them count. `each` gets their wake-ups.
    pub fn count_down_all(&mut self, at: Moment<'_>, mut each: impl FnMut(Wake)) {
        for function in 0..self.functions.len() {
            if let Some(wake) = self.count_down(function, at) {
                each(wake);
            }
        }
    }

    /// Whether a function of higher priority has its turn in this instant, or has begun to send.
    pub(super) fn loses_turn(&self, function: usize, at: Moment<'_>) -> bool {
        // The higher function's event may come before this one or after it. Before, this radio is
        // sending already; after, that function's `at` is still now.
        let mut higher = self.functions[..function].iter().enumerate();
        self.transceiver.is_sending()
            || higher.any(|(number, other)| {
                other.access.at() == Some(at.now) && self.has_work(number, at.setup)
            })
    }
}
