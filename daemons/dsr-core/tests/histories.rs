// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loop freedom and accounting under random topology changes: in every history no packet is at
//! a station twice, and each has exactly one fate.

use crate::support::{settings, Net};
use hoplab_dsr_core::settings::{CacheKind, CacheTimeout};
use hoplab_dsr_core::{Duration, Instant, Stream};

const STATIONS: u64 = 8;
const PACKETS: u16 = 40;

fn history(seed: u64) -> (usize, u64) {
    let mut random = Stream::new(seed, "history");
    let mut pick = |n: u64| random.bits() % n;
    let mut s = settings();
    if pick(2) == 0 {
        s.cache = CacheKind::Link;
    }
    if pick(3) == 0 {
        s.cache_timeout = CacheTimeout::Adaptive;
    }
    s.negative_cache_ns = Duration::from_millis(500 * pick(3));
    s.use_blacklist = pick(2) == 0;
    let mut net = Net::new(STATIONS as usize, &s);
    let density = 20 + pick(50);
    for a in 0..STATIONS as usize {
        for b in 0..a {
            if pick(100) < density {
                net.link(a, b, true);
            }
        }
    }
    for _ in 0..60 {
        let (a, b) = (pick(STATIONS) as usize, pick(STATIONS) as usize);
        let at = Instant(pick(4_000_000_000));
        if a != b {
            net.link_at(at, a, b, pick(2) == 0);
        }
    }
    for id in 1..=PACKETS {
        let (a, b) = (pick(STATIONS) as usize, pick(STATIONS) as usize);
        if a != b {
            net.send_at(Instant(pick(4_000_000_000)), a, b, id);
        }
    }
    net.run_s(50.0);
    net.check();
    for (i, node) in net.nodes.iter().enumerate() {
        assert_eq!(node.pending(), 0, "station {i} still holds packets");
    }
    let delivered = net.sent.iter().filter(|id| net.delivered(**id)).count();
    (
        delivered,
        net.nodes.iter().map(|n| n.stats().salvaged).sum(),
    )
}

#[test]
fn no_packet_loops_and_each_has_one_fate() {
    let (mut delivered, mut salvaged) = (0, 0);
    for seed in 0..3000 {
        let result = std::panic::catch_unwind(|| history(seed));
        let Ok((d, s)) = result else {
            panic!("history {seed} fails")
        };
        delivered += d;
        salvaged += s;
    }
    // The histories must exercise what they are about.
    assert!(delivered > 30_000, "only {delivered} packets arrived");
    assert!(salvaged > 300, "only {salvaged} were salvaged");
}
