// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the daemon answers at its control socket.

use hoplab_aodv_core::table::{Route, State};
use hoplab_aodv_core::{Aodv, Instant};
use hoplab_linux::calls::Call;
use std::net::Ipv4Addr;

/// Unicast frames with packets that did not get through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frames {
    pub failed: u64,
    /// The interface did not take them.
    pub refused: u64,
}

/// The protocol's counters, those of frames, and how often each system call was made.
pub fn counters(core: &Aodv, frames: &Frames) -> Vec<(&'static str, u64)> {
    let mut all = core.stats().counters();
    all.extend([
        ("data_frames_failed", frames.failed),
        ("frames_refused", frames.refused),
        ("calls_wait", Call::Wait.made()),
        ("calls_send", Call::Send.made()),
        ("calls_receive", Call::Receive.made()),
        ("calls_tun", Call::Tun.made()),
    ]);
    all
}

/// One line: destination, state, hops, next hop, sequence number, seconds left, precursors.
fn line(now: Instant, (to, route): (Ipv4Addr, &Route)) -> String {
    let state = match route.state {
        State::Valid => "valid",
        State::Invalid => "invalid",
        State::Repairing => "repairing",
    };
    let number = route.sequence.map_or("-".into(), |s| s.0.to_string());
    let precursors: Vec<_> = route.precursors.iter().map(ToString::to_string).collect();
    format!(
        "{to} {state} hops={} via={} sequence={number} left_s={:.3} precursors={}\n",
        route.hops,
        route.next_hop,
        route.until.since(now).as_secs_f64(),
        precursors.join(",")
    )
}

pub fn answer(core: &mut Aodv, frames: &Frames, now: Instant, request: &str) -> String {
    match request {
        "routes" => core.table().all().map(|one| line(now, one)).collect(),
        "stats" => {
            let line = |(name, value)| format!("{name} {value}\n");
            counters(core, frames).into_iter().map(line).collect()
        }
        "settings" => serde_json::to_string_pretty(core.settings())
            .map_or_else(|e| format!("{e}\n"), |text| text + "\n"),
        "flush" => {
            core.flush(now);
            "ok\n".into()
        }
        other => format!("unknown request {other:?}: expected routes, stats, settings or flush\n"),
    }
}
