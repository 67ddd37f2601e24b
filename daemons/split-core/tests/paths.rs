// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whatever links, proxies and routes do, the destination's stream is the source's, octet for octet
//! and in order. The source's TCP sees no ACK for what the destination's TCP has not. (`Sink` and
//! `Net` compare each octet and each ACK as they come.)

mod support;

use hoplab_split_core::{Connection, Duration};
use proptest::prelude::*;
use support::{connection, Link, Net, GIVE_UP};

const CALM: Link = Link {
    loss: 0.0,
    duplicate: 0.0,
    jitter: Duration::ZERO,
    busy: Duration::from_millis(2),
    queue: 50,
};

#[derive(Clone, Debug)]
enum Change {
    Die(usize),
    Begin(usize),
    /// Stations of the route besides the ends, by the bits; reversed or not.
    Route(u8, bool),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (0usize..7).prop_map(Change::Die),
        4 => (0usize..7).prop_map(Change::Begin),
        3 => (any::<u8>(), any::<bool>()).prop_map(|(bits, r)| Change::Route(bits, r)),
    ]
}

fn route(bits: u8, reversed: bool) -> Vec<usize> {
    let mut middle: Vec<usize> = (1..6).filter(|i| bits >> i & 1 == 1).collect();
    if reversed {
        middle.reverse();
    }
    [vec![0], middle, vec![6]].concat()
}

fn where_proxies_are() -> impl Strategy<Value = Connection> {
    let some = prop::collection::vec(1usize..6, 0..5).prop_map(|list| connection(&list));
    let every = (1u8..4).prop_map(|n| Connection {
        every_hops: Some(n),
        ..connection(&[])
    });
    (prop_oneof![some, every], 1usize..12, 1usize..24, 1usize..12).prop_map(
        |(connection, buffer_packets, window, ack_every)| Connection {
            buffer_packets,
            window,
            ack_every,
            ..connection
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_stream_arrives_whole(
        connection in where_proxies_are(),
        (loss, duplicate) in (0.0..0.25f64, 0.0..0.2f64),
        jitter_ms in 0u64..60,
        queue in 3usize..40,
        changes in prop::collection::vec((0u64..20_000, change()), 0..20),
        back in any::<Option<(u8, bool)>>(),
        (segments, seed) in (1u64..120, any::<u64>()),
    ) {
        let jitter = Duration::from_millis(jitter_ms);
        let link = Link { loss, duplicate, jitter, queue, ..CALM };
        let mut net = Net::new(7, connection, link, segments, seed);
        net.back = back.map(|(bits, reversed)| route(bits, reversed));
        for (at_ms, change) in changes {
            let at = Duration::from_millis(at_ms);
            match change {
                Change::Die(i) => net.die_at(at, i),
                Change::Begin(i) => net.begin_at(at, i),
                Change::Route(bits, reversed) => net.route_at(at, route(bits, reversed)),
            }
        }
        net.calm_at(Duration::from_secs(20), CALM);
        // A proxy may hear neither local acknowledgements (the destination's part is gone) nor ACKs
        // (they go another way). It has done with a segment when it gives up.
        let took = net.run(Duration::from_secs(400) + GIVE_UP * segments);
        prop_assert!(net.done(), "{} of {} after {took} s", net.sink.next, net.source.end());
    }
}
