// SPDX-License-Identifier: Apache-2.0 OR MIT
//! No packet runs in a circle, whatever breaks and whatever message is lost: random networks whose
//! links come and go, under fixed seeds. `HOPLAB_HISTORIES` sets how many (default 60).

use crate::support::{kernels_agree, no_loop, packet, settings, Net, MS};
use hoplab_aodv_core::{Settings, Stream};

const STATIONS: usize = 8;

fn variant(seed: u64) -> Settings {
    let base = settings();
    Settings {
        local_repair: seed % 2 == 0,
        gratuitous_rrep: seed % 3 == 0,
        destination_only: seed % 5 == 0,
        hello: seed % 7 == 0,
        rrep_ack: seed % 11 == 0,
        keep_failed_packets: seed % 4 != 1,
        ..base
    }
}

#[test]
fn no_history_makes_a_loop() {
    let histories = std::env::var("HOPLAB_HISTORIES").unwrap_or_else(|_| "60".into());
    let histories: u64 = histories
        .parse()
        .expect("HOPLAB_HISTORIES: expected a number");
    let mut delivered = 0;
    for seed in 0..histories {
        let mut random = Stream::new(seed, "history");
        let mut net = Net::new(STATIONS, &variant(seed), seed);
        net.loss = [0, 10, 30, 60][(seed % 4) as usize];
        net.check = |net| {
            no_loop(net);
            kernels_agree(net);
        };
        let any = |random: &mut Stream| (random.bits() % STATIONS as u64) as usize;
        for name in 0..150 {
            let (a, b) = (any(&mut random), any(&mut random));
            if a != b && random.bits() % 2 == 0 {
                net.link(a, b, random.bits() % 5 < 2);
            }
            let (from, to) = (any(&mut random), any(&mut random));
            if from != to {
                net.transmit(from, packet(from, to, 64, name));
            }
            let pause = [1, 20, 300, 4000][(random.bits() % 4) as usize];
            net.run(MS * (1 + random.bits() % pause));
        }
        net.run(MS * 40_000);
        delivered += net.nodes.iter().map(|n| n.delivered.len()).sum::<usize>();
    }
    assert!(delivered as u64 > histories * 20, "{delivered}");
}
