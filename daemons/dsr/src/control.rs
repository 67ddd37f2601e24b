// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the daemon answers at its control socket.

use crate::layers::Core;
use crate::samples::SplitSamples;
use hoplab_dsr_core::{Instant, Settings};
use hoplab_dsr_elfn as notices;
use hoplab_linux::calls::Call;
use hoplab_station::command;
use serde::Serialize;

/// The settings of the protocol and of its notices, in one table as users give them.
#[derive(Serialize)]
struct InForce<'a> {
    #[serde(flatten)]
    protocol: &'a Settings,
    #[serde(flatten)]
    notices: &'a notices::Settings,
}

/// The protocol's counters, and how often each system call of the forwarding path was made.
pub fn counters(core: &Core) -> Vec<(&'static str, u64)> {
    let mut all = core.stats().counters();
    all.extend([
        ("calls_wait", Call::Wait.made()),
        ("calls_send", Call::Send.made()),
        ("calls_statuses", Call::Statuses.made()),
        ("calls_tun", Call::Tun.made()),
    ]);
    all
}

pub fn answer(
    core: &mut Core,
    splitting: Option<&SplitSamples>,
    now: Instant,
    request: &str,
) -> String {
    match request {
        "routes" => {
            let line = |route: Vec<std::net::Ipv4Addr>| {
                let hops: Vec<_> = route.iter().map(ToString::to_string).collect();
                hops.join(" ") + "\n"
            };
            core.routes(now).into_iter().map(line).collect()
        }
        "stats" => {
            let line = |(name, value)| format!("{name} {value}\n");
            counters(core).into_iter().map(line).collect()
        }
        "settings" => {
            let all = InForce {
                protocol: core.settings(),
                notices: core.layer().0.settings(),
            };
            serde_json::to_string_pretty(&all).map_or_else(|e| format!("{e}\n"), |text| text + "\n")
        }
        "flush" => {
            core.flush();
            "ok\n".into()
        }
        "split" => splitting.map_or_else(
            || "no connection is split: the document names none\n".into(),
            |splitting| splitting.told(&core.layer().1),
        ),
        other => command::unknown(other, &[crate::SPLIT]),
    }
}
