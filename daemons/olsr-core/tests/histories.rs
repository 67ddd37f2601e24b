// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random networks whose links come and go, and whose messages get lost. While they change, OLSR's
//! routes may lead in circles. Once they rest, each station has the shortest path to each that it can
//! reach, and no other route. `HOPLAB_HISTORIES` sets how many (default 40).

use crate::support::{ip, no_loop, settings, station, Net};
use hoplab_olsr_core::{Duration, Settings, Stream};
use std::collections::BTreeMap;

const STATIONS: usize = 9;

fn variant(seed: u64) -> Settings {
    Settings {
        hysteresis: seed % 3 == 1,
        triggered_tc: seed % 2 == 0,
        tc_redundancy: (seed % 3) as u8,
        mpr_coverage: 1 + (seed % 4 / 3) as usize,
        link_layer_feedback: seed % 5 == 0,
        ..settings()
    }
}

/// Hops from `from` to all that it reaches.
fn distances(net: &Net, from: usize) -> BTreeMap<usize, usize> {
    let mut found = BTreeMap::from([(from, 0)]);
    let mut edge = vec![from];
    while !edge.is_empty() {
        let mut next = Vec::new();
        for at in edge {
            for to in 0..STATIONS {
                if net.links.contains(&(at, to)) && !found.contains_key(&to) {
                    found.insert(to, found[&at] + 1);
                    next.push(to);
                }
            }
        }
        edge = next;
    }
    found
}

#[test]
fn a_network_at_rest_has_shortest_paths() {
    let histories = std::env::var("HOPLAB_HISTORIES").unwrap_or_else(|_| "40".into());
    let histories: u64 = histories
        .parse()
        .expect("HOPLAB_HISTORIES: expected a number");
    let mut routes = 0;
    for seed in 0..histories {
        let mut random = Stream::new(seed, "history");
        let mut net = Net::new(STATIONS, &variant(seed), seed);
        let any = |random: &mut Stream| random.below(STATIONS as u32) as usize;
        net.loss = [0, 20, 50][(seed % 3) as usize];
        for _ in 0..60 {
            let (a, b) = (any(&mut random), any(&mut random));
            if a != b {
                net.link(a, b, random.below(5) < 2);
            }
            net.run(Duration::from_millis(1 + u64::from(random.below(3000))));
        }
        net.loss = 0;
        net.run(Duration::from_secs(60));
        for n in 0..STATIONS {
            let to = distances(&net, n);
            let known: Vec<_> = net.nodes[n].routes.keys().map(|to| station(*to)).collect();
            let reached: Vec<_> = to.keys().copied().filter(|to| *to != n).collect();
            assert_eq!(known, reached, "history {seed}, station {n}");
            for (&destination, next_hop) in &net.nodes[n].routes {
                let (far, near) = (station(destination), station(*next_hop));
                let on = distances(&net, near)[&far];
                assert_eq!(
                    on + 1,
                    to[&far],
                    "history {seed}, {} to {destination}",
                    ip(n)
                );
                routes += 1;
            }
        }
        no_loop(&net);
    }
    assert!(routes > histories * 20, "{routes}");
}
