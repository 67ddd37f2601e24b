// SPDX-License-Identifier: Apache-2.0
//! Frame exchanges: RTS, CTS, data, ACK, timeouts and retries (IEEE 802.11-2020 10.3.2, 10.3.4.4).

use super::counters::Outcome;
use super::radio::{Awaiting, Kind, Response, Transmission};
use super::{Event, Medium, To};
use crate::Nanos;

pub(super) const ACK_BYTES: usize = 14;
pub(super) const CTS_BYTES: usize = 14;
pub(super) const RTS_BYTES: usize = 20;

impl Medium {
    /// Rate entry of the current frame's try after all but the last `back` that were made.
    pub(super) fn rate_entry(&self, radio: usize, back: u32) -> usize {
        let station = &self.radios[radio];
        let Some(frame) = &station.current else {
            return 0;
        };
        let done = station.tries.iter().sum::<u32>().saturating_sub(back);
        let mut total = 0;
        for (i, rate) in frame.rates.iter().enumerate() {
            total += rate.1;
            if done < total {
                return i;
            }
        }
        frame.rates.len() - 1
    }

    pub(super) fn send_current(&mut self, radio: usize) {
        let entry = self.rate_entry(radio, 0);
        let station = &mut self.radios[radio];
        let Some(frame) = &station.current else {
            return;
        };
        let (rate, _, rts) = frame.rates[entry];
        station.tries[entry] += 1;
        if !rts || frame.to == To::Everyone || self.params.no_ack {
            self.send_data(radio, entry);
            return;
        }
        let (to, bytes) = (frame.to, frame.bytes);
        let phy = &self.params.phy;
        let reserve = 3 * phy.sifs + self.cts_time + phy.duration(bytes, rate) + self.ack_time;
        self.transmit(
            radio,
            Kind::Rts,
            to,
            phy.basic_rate_mbps,
            RTS_BYTES,
            reserve,
        );
    }

    fn send_data(&mut self, radio: usize, entry: usize) {
        let Some(frame) = &self.radios[radio].current else {
            return;
        };
        let (to, bytes, rate) = (frame.to, frame.bytes, frame.rates[entry].0);
        let expects_ack = to != To::Everyone && !self.params.no_ack;
        let reserve = if expects_ack {
            self.params.phy.sifs + self.ack_time
        } else {
            0
        };
        self.transmit(radio, Kind::Data, to, rate, bytes, reserve);
    }

    /// Answer `response.to` after a SIFS.
    pub(super) fn plan(&mut self, radio: usize, response: Response) {
        self.freeze(radio);
        self.radios[radio].response = Some(response);
        self.push(self.now + self.params.phy.sifs, Event::Respond, radio);
    }

    pub(super) fn respond(&mut self, radio: usize) {
        let station = &mut self.radios[radio];
        let Some(response) = station.response.take() else {
            return;
        };
        if !station.up || station.transmitting {
            return;
        }
        if self.params.ns2_reception && self.response_waits(radio, &response) {
            return;
        }
        let station = &mut self.radios[radio];
        let basic = self.params.phy.basic_rate_mbps;
        let to = To::Radio(response.to);
        match response.kind {
            Kind::Ack => {
                // The host gets the frame when the acknowledgement has ended, in the same instant
                // in which the sender's host learns of it; its radio is busy until then.
                if response.deliver.is_some() {
                    station.delivering = response.deliver;
                }
                self.transmit(radio, Kind::Ack, to, basic, ACK_BYTES, 0);
            }
            Kind::Cts => {
                self.transmit(radio, Kind::Cts, to, basic, CTS_BYTES, response.reserve);
            }
            Kind::Data | Kind::Rts => {
                // The request to send counted the try, so its rate entry is that of the last one.
                let entry = self.rate_entry(radio, 1);
                self.send_data(radio, entry);
            }
        }
    }

    pub(super) fn after_sending(&mut self, radio: usize, transmission: &Transmission) {
        if transmission.cut {
            return;
        }
        let (sifs, slot) = (self.params.phy.sifs, self.params.phy.slot);
        match transmission.kind {
            Kind::Rts => self.wait_for(radio, Awaiting::Cts, sifs + self.cts_time + slot),
            Kind::Data if transmission.to == To::Everyone || self.params.no_ack => {
                self.finish(radio, Outcome::Sent);
            }
            Kind::Data => self.wait_for(radio, Awaiting::Ack, sifs + self.ack_time + slot),
            Kind::Ack | Kind::Cts => {}
        }
    }

    fn wait_for(&mut self, radio: usize, what: Awaiting, wait: Nanos) {
        let station = &mut self.radios[radio];
        if !station.up || station.current.is_none() {
            return;
        }
        station.awaiting = what;
        station.generation += 1;
        let generation = station.generation;
        self.push(self.now + wait, Event::Timeout(generation), radio);
    }

    /// Hosts of bystanders get a frame together with its receiver's: what is due at one instant
    /// costs a driver one system call.
    pub(super) fn hand_up_overheard(&mut self, sender: usize) {
        let mut overheard = std::mem::take(&mut self.radios[sender].overheard);
        for (radio, arrived) in overheard.drain(..) {
            if self.radios[radio].up {
                self.hand_up(radio, arrived);
            }
        }
        self.radios[sender].overheard = overheard;
    }

    /// No CTS or ACK came: retry with a doubled window, or give up (10.3.4.4).
    pub(super) fn timeout(&mut self, radio: usize, generation: u64) {
        let cw_max = self.params.phy.cw_max;
        let station = &mut self.radios[radio];
        if station.generation != generation || station.awaiting == Awaiting::Nothing {
            return;
        }
        if station.current.is_none() {
            return;
        }
        let awaiting = std::mem::replace(&mut station.awaiting, Awaiting::Nothing);
        let over = self.gives_up(radio, awaiting);
        let (short, long) = self.retries_after(radio, awaiting);
        let station = &mut self.radios[radio];
        (station.short_retries, station.long_retries) = (short, long);
        self.hand_up_overheard(radio);
        let station = &mut self.radios[radio];
        if over {
            station.counters.retry_limit += 1;
            self.finish(radio, Outcome::RetryLimit);
            return;
        }
        station.counters.retries += 1;
        station.cw = (2 * station.cw + 1).min(cw_max);
        self.draw_backoff(radio);
        self.count_down(radio);
    }

    /// Short and long retries once an answer has not come. Frames above the RTS threshold, which
    /// are those that RTS protects, count long retries.
    fn retries_after(&self, radio: usize, awaited: Awaiting) -> (u32, u32) {
        let station = &self.radios[radio];
        let current = station.current.as_ref();
        let protected = current.is_some_and(|frame| frame.rates.iter().any(|rate| rate.2));
        let long = awaited == Awaiting::Ack && protected;
        (
            station.short_retries + u32::from(!long),
            station.long_retries + u32::from(long),
        )
    }

    /// Whether the current frame is given up if the answer to this try does not come.
    pub(super) fn gives_up(&self, radio: usize, awaited: Awaiting) -> bool {
        let station = &self.radios[radio];
        let Some(frame) = &station.current else {
            return true;
        };
        if self.params.kernel_retries {
            let tried: u32 = station.tries.iter().sum();
            let allowed: u32 = frame.rates.iter().map(|rate| rate.1).sum();
            return tried >= allowed;
        }
        let (short, long) = self.retries_after(radio, awaited);
        short >= self.params.retry_short || long >= self.params.retry_long
    }

    /// The current frame is done; the next one waits for a backoff in any case (post-backoff).
    pub(super) fn finish(&mut self, radio: usize, outcome: Outcome) {
        let cw_min = self.params.phy.cw_min;
        let station = &mut self.radios[radio];
        let Some(frame) = station.current.take() else {
            return;
        };
        station.cw = cw_min;
        let tries = std::mem::take(&mut station.tries);
        self.report(radio, frame.id, outcome, tries);
        self.draw_backoff(radio);
        self.next_frame(radio);
        self.count_down(radio);
    }
}
