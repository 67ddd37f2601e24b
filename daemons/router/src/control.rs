// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the daemon answers at its control socket.

use hoplab_base::Instant;
use hoplab_linux::calls::Call;
use hoplab_routing_core::Protocol;
use hoplab_station::command;

/// Unicast frames with packets that did not get through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frames {
    pub failed: u64,
    /// The interface did not take them.
    pub refused: u64,
}

/// The protocol's counters, those of frames, and how often each system call was made.
pub fn counters(core: &impl Protocol, frames: &Frames) -> Vec<(&'static str, u64)> {
    let mut all = core.counters();
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

pub fn answer(core: &mut impl Protocol, frames: &Frames, now: Instant, request: &str) -> String {
    match request {
        "routes" => core.routes(now),
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
        other => command::unknown(other, &[]),
    }
}
