// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a station knows of its neighbours: addresses that age, signals, and whom to ask when a
//! packet of another station is stuck.

use crate::support::{settings, Fate, Net};
use hoplab_dsr_core::settings::{CacheKind, Learning};
use hoplab_dsr_core::{Duration, Settings};

fn signal(net: &mut Net, a: usize, b: usize, dbm: i16) {
    net.signals.insert((a, b), dbm);
    net.signals.insert((b, a), dbm);
}

#[test]
fn routes_whose_weakest_hop_is_strong_are_preferred() {
    for cache in [CacheKind::Path, CacheKind::Link] {
        for (far_hop, way) in [(-80, vec![0, 2, 3, 4]), (-60, vec![0, 1, 4])] {
            let s = Settings {
                cache,
                signal_threshold_dbm: Some(-70),
                ..settings()
            };
            let mut net = Net::with(5, &[(0, 1), (1, 4), (0, 2), (2, 3), (3, 4)], &s);
            for (a, b) in [(0, 1), (0, 2), (2, 3), (3, 4)] {
                signal(&mut net, a, b, -60);
            }
            // Two hops from the sender, who can know it only from the replies.
            signal(&mut net, 1, 4, far_hop);
            net.send(0, 4, 1);
            net.run_s(3.0);
            net.send(0, 4, 2);
            net.run_s(1.0);
            assert_eq!(net.visits[&2], way, "{cache:?}: {:?}", net.events);
        }
    }
}

#[test]
fn a_weak_route_serves_where_there_is_no_other() {
    let s = Settings {
        signal_threshold_dbm: Some(-70),
        ..settings()
    };
    let mut net = Net::chain(3, &s);
    signal(&mut net, 0, 1, -60);
    signal(&mut net, 1, 2, -90);
    net.send(0, 2, 1);
    net.run_s(3.0);
    assert!(net.delivered(1), "{:?}", net.events);
}

#[test]
fn a_fading_neighbour_is_left_before_its_link_breaks() {
    let s = Settings {
        signal_threshold_dbm: Some(-70),
        ..settings()
    };
    let mut net = Net::with(4, &[(0, 1), (1, 3), (0, 2), (2, 3)], &s);
    for (a, b) in [(0, 1), (1, 3), (0, 2), (2, 3)] {
        signal(&mut net, a, b, -60);
    }
    net.send(0, 3, 1);
    net.run_s(3.0);
    net.send(0, 3, 2);
    net.run_s(1.0);
    let first = net.visits[&2][1];
    signal(&mut net, 0, first, -85);
    for id in 3..9 {
        net.send(0, 3, id);
        net.run_s(1.0);
    }
    assert_eq!(net.visits[&8], [0, 3 - first, 3], "{:?}", net.events);
    assert_eq!(net.count("link-failure"), 0);
}

#[test]
fn a_neighbour_that_was_silent_for_long_is_asked_first() {
    let mut net = Net::chain(2, &settings());
    net.send(0, 1, 1);
    net.run_s(1.0);
    assert_eq!((net.delivered(1), net.arp_frames), (true, 0));
    net.run_s(50.0);
    net.send(0, 1, 2);
    net.run_s(1.0);
    assert_eq!((net.delivered(2), net.arp_frames), (true, 0));
    net.run_s(60.0);
    net.send(0, 1, 3);
    net.run_s(1.0);
    assert_eq!((net.delivered(3), net.arp_frames), (true, 2));
}

#[test]
fn a_silent_neighbour_that_has_left_is_given_up_soon() {
    let mut net = Net::with(4, &[(0, 1), (1, 3), (0, 2), (2, 3)], &settings());
    net.send(0, 3, 1);
    net.run_s(3.0);
    let via = net.visits[&1][1];
    net.run_s(70.0);
    net.link(0, via, false);
    let sent = net.now;
    net.send(0, 3, 2);
    net.run_s(1.0);
    assert!(net.delivered(2), "{:?}", net.events);
    let failure = net
        .events
        .iter()
        .find(|(_, _, e)| e.kind() == "link-failure");
    let (at, _, event) = failure.expect("its address stays unknown");
    assert!(at.since(sent) <= Duration::from_millis(100));
    assert!(event.to_string().ends_with("why=no-address"), "{event}");
}

#[test]
fn a_stuck_packet_of_another_station_waits_while_neighbours_are_asked() {
    for asks in [false, true] {
        let s = Settings {
            salvage_discovery: asks,
            learning: Learning::Onward,
            ..settings()
        };
        let mut net = Net::chain(4, &s);
        net.send(0, 3, 1);
        net.run_s(3.0);
        assert!(net.delivered(1));
        net.link(1, 2, false);
        net.link(1, 3, true);
        net.send(0, 3, 2);
        net.run_s(1.0);
        let fate = if asks {
            Fate::Delivered(3)
        } else {
            Fate::Dropped(1, "link-broken")
        };
        assert_eq!(net.fates[&2], [fate], "{:?}", net.events);
    }
}
