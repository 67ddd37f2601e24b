// SPDX-License-Identifier: Apache-2.0 OR MIT
//! No packet runs in a circle, whatever breaks and whatever update is lost: random networks whose
//! links come and go, under fixed seeds. Once they rest, each station has the shortest way to each that
//! it can reach. `HOPLAB_HISTORIES` sets how many (default 40).

use crate::support::{no_loop, packet, settings, station, Net};
use hoplab_dsdv_core::{Duration, Settings, Stream};
use std::collections::BTreeSet;

const STATIONS: usize = 8;

fn variant(seed: u64) -> Settings {
    Settings {
        damp_times: 2 * (seed % 2),
        damp_shorter: seed % 7 == 0,
        triggered_by_sequence: seed % 3 == 0,
        breaks_of_next_hop: seed % 5 == 0,
        link_layer_feedback: seed % 4 != 1,
        ..settings()
    }
}

fn reached(net: &Net, from: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::from([from]);
    loop {
        let next = net.links.iter().filter(|(a, _)| found.contains(a));
        let more: BTreeSet<_> = next.map(|(_, b)| *b).collect();
        if more.is_subset(&found) {
            found.remove(&from);
            return found;
        }
        found.extend(more);
    }
}

#[test]
fn no_history_makes_a_loop_and_rest_brings_all_routes() {
    let histories = std::env::var("HOPLAB_HISTORIES").unwrap_or_else(|_| "40".into());
    let histories: u64 = histories
        .parse()
        .expect("HOPLAB_HISTORIES: expected a number");
    let (mut delivered, mut routes) = (0, 0);
    for seed in 0..histories {
        let mut random = Stream::new(seed, "history");
        let mut net = Net::new(STATIONS, &variant(seed), seed);
        net.loss = [0, 10, 40][(seed % 3) as usize];
        net.check = no_loop;
        let any = |random: &mut Stream| random.below(STATIONS as u32) as usize;
        for name in 0..120 {
            let (a, b) = (any(&mut random), any(&mut random));
            if a != b && random.below(2) == 0 {
                net.link(a, b, random.below(5) < 2);
            }
            let (from, to) = (any(&mut random), any(&mut random));
            if from != to {
                net.transmit(from, packet(from, to, 64, name));
            }
            let pause = [1, 50, 1000, 8000][random.below(4) as usize];
            net.run(Duration::from_millis(1 + u64::from(random.below(pause))));
        }
        net.loss = 0;
        net.run(Duration::from_secs(200));
        for n in 0..STATIONS {
            let known = net.nodes[n].routes.keys();
            let known: BTreeSet<_> = known.map(|to| station(*to)).collect();
            assert_eq!(known, reached(&net, n), "history {seed}, station {n}");
            routes += known.len() as u64;
        }
        delivered += net.nodes.iter().map(|n| n.delivered.len()).sum::<usize>();
    }
    assert!(
        delivered as u64 > histories * 20 && routes > histories * 10,
        "{delivered} {routes}"
    );
}
