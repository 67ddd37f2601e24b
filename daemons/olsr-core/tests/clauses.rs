// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RFC 3626 by clause, over small networks.

use crate::support::{self, hop, ip, mac, no_loop, packet, settings, Net, MS};
use hoplab_olsr_core::message::{self, CodedTime, Message, Qualities, Tc};
use hoplab_olsr_core::relays::select;
use hoplab_olsr_core::{Duration, Metric, Protocol, Sequence16, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

fn seconds(s: u64) -> Duration {
    Duration::from_secs(s)
}

/// The messages that stations sent, with who sent their packet.
fn messages(net: &Net) -> Vec<(usize, Message)> {
    let parsed = |(n, octets): &(usize, Vec<u8>)| {
        let (_, all) = message::parse(octets).expect("a packet");
        all.into_iter().map(|one| (*n, one)).collect::<Vec<_>>()
    };
    net.sent.iter().flat_map(parsed).collect()
}

fn relays(net: &Net, n: usize) -> Vec<usize> {
    let all = net.nodes[n].core.relays().iter();
    all.map(|address| support::station(*address)).collect()
}

/// §7.1, §8.1: two HELLOs make a link symmetric, three intervals without any end it.
#[test]
fn links_come_and_go() {
    let mut net = Net::chain(2, &settings());
    net.run(seconds(6));
    assert!(net.nodes[0].core.symmetric().contains(&ip(1)));
    assert_eq!(net.nodes[0].routes.get(&ip(1)), Some(&ip(1)));
    net.link(0, 1, false);
    net.run(seconds(4));
    assert_eq!(net.kinds(0, "link-failure"), 0);
    net.run(seconds(3));
    assert_eq!(net.kinds(0, "link-failure"), 1);
    assert!(net.nodes[0].routes.is_empty());
    net.run(seconds(10));
    assert_eq!(net.nodes[0].core.sizes(), [0, 0, 0]);
}

/// §7.1.1: a link in one direction is no link.
#[test]
fn a_link_in_one_direction_is_no_link() {
    let mut net = Net::new(2, &settings(), 1);
    net.links.insert((0, 1));
    net.run(seconds(20));
    assert!(net.nodes[0].core.symmetric().is_empty());
    assert!(net.nodes[1].core.symmetric().is_empty());
    assert_eq!(net.nodes[1].core.sizes()[0], 1);
}

/// §9, §10: all stations have shortest paths, and packets take them.
#[test]
fn every_station_reaches_every_other() {
    let mut net = Net::chain(6, &settings());
    net.run(seconds(25));
    for (n, node) in net.nodes.iter().enumerate() {
        assert_eq!(node.routes.len(), 5, "{n}");
    }
    no_loop(&net);
    net.transmit(0, packet(0, 5, 64, 7));
    net.transmit(5, packet(5, 0, 64, 8));
    net.run(MS * 10);
    assert_eq!(
        (&net.nodes[5].delivered[..], &net.nodes[0].delivered[..]),
        (&[7][..], &[8][..])
    );
    let listed = net.nodes[0].core.routes(net.now);
    assert!(
        listed.contains("10.0.0.6 via=10.0.0.2 cost=5.000"),
        "{listed}"
    );
}

/// §8.3: in a chain each inner neighbour is a relay, an end is none.
#[test]
fn relays_cover_all_that_are_two_hops_away() {
    let mut net = Net::chain(4, &settings());
    net.run(seconds(10));
    assert_eq!(relays(&net, 0), [1]);
    assert_eq!(relays(&net, 1), [2]);
    assert_eq!(relays(&net, 3), [2]);
}

fn set(last: &[u8]) -> BTreeSet<Ipv4Addr> {
    last.iter().map(|n| Ipv4Addr::new(10, 0, 0, *n)).collect()
}

fn reach(all: &[(u8, &[u8])]) -> BTreeMap<Ipv4Addr, BTreeSet<Ipv4Addr>> {
    let one = |(by, to): &(u8, &[u8])| (Ipv4Addr::new(10, 0, 0, *by), set(to));
    all.iter().map(one).collect()
}

fn willing(all: &[(u8, u8)]) -> BTreeMap<Ipv4Addr, u8> {
    let one = |(n, will): &(u8, u8)| (Ipv4Addr::new(10, 0, 0, *n), *will);
    all.iter().map(one).collect()
}

/// §8.3.1, step by step.
#[test]
fn the_choice_of_relays_is_that_of_8_3_1() {
    let own = Ipv4Addr::new(10, 0, 0, 1);
    let by = |neighbours: &[(u8, u8)], ways: &[(u8, &[u8])], coverage| {
        select(own, &willing(neighbours), &reach(ways), coverage)
    };
    let even = [(2, 3), (3, 3), (4, 3)];
    // 2 alone reaches 11; then 3 adds nothing.
    let ways: [(u8, &[u8]); 3] = [(2, &[11, 12]), (3, &[12]), (4, &[1, 2])];
    assert_eq!(by(&even, &ways, 1), set(&[2]));
    // The most willing first, though 4 reaches more.
    let ways: [(u8, &[u8]); 3] = [(2, &[11]), (3, &[12]), (4, &[11, 12])];
    assert_eq!(by(&[(2, 5), (3, 5), (4, 3)], &ways, 1), set(&[2, 3]));
    assert_eq!(by(&even, &ways, 1), set(&[4]));
    // Never, and always.
    assert_eq!(by(&[(2, 3), (3, 3), (4, 0)], &ways, 1), set(&[2, 3]));
    assert_eq!(by(&[(2, 7), (3, 3), (4, 3)], &ways, 1), set(&[2, 4]));
    // Of equals that with most neighbours, then the lowest address.
    let ways: [(u8, &[u8]); 3] = [(2, &[11]), (3, &[11, 4]), (4, &[11])];
    assert_eq!(by(&even, &ways, 1), set(&[3]));
    let ways: [(u8, &[u8]); 3] = [(2, &[11]), (3, &[11]), (4, &[11])];
    assert_eq!(by(&even, &ways, 1), set(&[2]));
    // §16: two relays to each, as far as there are two.
    assert_eq!(by(&even, &ways, 2).len(), 2);
    let ways: [(u8, &[u8]); 2] = [(2, &[11]), (3, &[12])];
    assert_eq!(by(&even, &ways, 2), set(&[2, 3]));
}

/// §3.4.1: each message is sent on once, by relays alone.
#[test]
fn relays_alone_send_messages_on() {
    // 0 has 1 and 2 as neighbours, which are neighbours; 3 is behind both, 4 behind 3.
    let mut net = Net::new(5, &settings(), 1);
    for (a, b) in [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4)] {
        net.link(a, b, true);
    }
    net.run(seconds(30));
    assert_eq!(relays(&net, 3), [1]);
    net.sent.clear();
    net.run(seconds(60));
    let all = messages(&net);
    let by = |n: usize, origin: usize| {
        let of = |(from, m): &&(usize, Message)| *from == n && m.originator == ip(origin);
        let tcs = all.iter().filter(of).filter(|(_, m)| !m.is_hello());
        tcs.map(|(_, m)| m.sequence.0).collect::<Vec<_>>()
    };
    let own = by(3, 3);
    assert!((12..=16).contains(&own.len()), "{}", own.len());
    assert_eq!(by(1, 3), own[..by(1, 3).len()]);
    assert!(by(1, 3).len() + 1 >= own.len());
    assert!(by(2, 3).is_empty() && by(0, 3).is_empty() && by(4, 3).is_empty());
    // Nobody chose 4, which so has nothing to advertise (§9.3).
    assert!(by(4, 4).is_empty());
}

/// §8.4.1: who chose a relay counts until that choice's validity ends, though later HELLOs have another.
#[test]
fn a_choice_ends_with_its_validity() {
    // 0 reaches 3 by 1, or as well by 2, which comes later and has 4 behind it.
    let mut net = Net::new(5, &settings(), 1);
    for (a, b) in [(0, 1), (1, 3), (2, 3), (2, 4)] {
        net.link(a, b, true);
    }
    net.run(seconds(20));
    assert_eq!(relays(&net, 0), [1]);
    net.link(0, 2, true);
    net.run(seconds(4));
    assert_eq!(relays(&net, 0), [2]);
    let chosen = |net: &Net| net.nodes[1].core.advertised().contains(&ip(0));
    assert!(chosen(&net));
    net.run(seconds(6));
    assert!(!chosen(&net));
}

fn tc(originator: usize, number: u16, message_number: u16, to: &[usize]) -> Vec<u8> {
    let tc = Tc {
        sequence: Sequence16(number),
        advertised: to.iter().map(|n| (ip(*n), Qualities::default())).collect(),
        with_qualities: false,
    };
    let (kind, body) = tc.emit();
    let message = Message {
        kind,
        validity: CodedTime::of(seconds(15)),
        originator: ip(originator),
        ttl: 255,
        hops: 0,
        sequence: Sequence16(message_number),
        body,
    };
    message::emit(Sequence16(message_number), &[message.emit()])
}

/// §9.5: an older TC is void, a newer one replaces, a stranger's is ignored, time ends all.
#[test]
fn a_tc_is_believed_by_its_number() {
    let mut net = Net::chain(2, &settings());
    net.run(seconds(6));
    let hears = |net: &mut Net, from: usize, octets: &[u8]| {
        let now = net.now;
        net.nodes[0].core.handle_message(now, hop(from), 1, octets);
        net.carry_out(0);
    };
    hears(&mut net, 9, &tc(1, 5, 1, &[7]));
    assert_eq!(net.nodes[0].core.sizes()[2], 0);
    hears(&mut net, 1, &tc(1, 5, 101, &[7, 8]));
    assert_eq!(net.nodes[0].routes.get(&ip(8)), Some(&ip(1)));
    hears(&mut net, 1, &tc(1, 4, 102, &[6]));
    assert!(!net.nodes[0].routes.contains_key(&ip(6)));
    // The same message again is not processed (§3.4).
    hears(&mut net, 1, &tc(1, 9, 101, &[6]));
    assert!(!net.nodes[0].routes.contains_key(&ip(6)));
    hears(&mut net, 1, &tc(1, 6, 103, &[8]));
    assert!(!net.nodes[0].routes.contains_key(&ip(7)));
    assert_eq!(net.nodes[0].routes.get(&ip(8)), Some(&ip(1)));
    net.run(seconds(14));
    assert!(net.nodes[0].routes.contains_key(&ip(8)));
    net.run(seconds(2));
    assert_eq!(net.nodes[0].core.sizes()[2], 0);
    assert!(!net.nodes[0].routes.contains_key(&ip(8)));
}

/// A network finds other ways, and a program hears of a packet without a route.
#[test]
fn a_break_is_mended() {
    // A square.
    let mut net = Net::new(4, &settings(), 1);
    for (a, b) in [(0, 1), (1, 3), (0, 2), (2, 3)] {
        net.link(a, b, true);
    }
    net.run(seconds(20));
    assert_eq!(net.nodes[0].routes.get(&ip(3)), Some(&ip(1)));
    net.link(0, 1, false);
    net.link(1, 3, false);
    net.run(seconds(8));
    assert_eq!(net.nodes[0].routes.get(&ip(3)), Some(&ip(2)));
    net.transmit(0, packet(0, 3, 64, 1));
    net.run(MS * 5);
    assert_eq!(net.nodes[3].delivered, [1]);
    net.run(seconds(30));
    net.transmit(0, packet(0, 1, 64, 2));
    assert_eq!((net.kinds(0, "drop"), net.nodes[0].told), (1, 1));
    // A packet of another station brings no message to the own stack.
    net.transmit(2, packet(0, 1, 64, 3));
    assert_eq!((net.kinds(2, "drop"), net.nodes[2].told), (1, 0));
}

/// §13: the link layer's report breaks the link for NEIGHB_HOLD_TIME; the packet goes another way.
#[test]
fn a_failed_frame_breaks_its_link() {
    let s = Settings {
        link_layer_feedback: true,
        ..settings()
    };
    let mut net = Net::new(4, &s, 1);
    for (a, b) in [(0, 1), (1, 3), (0, 2), (2, 3)] {
        net.link(a, b, true);
    }
    net.run(seconds(20));
    net.link(0, 1, false);
    net.transmit(0, packet(0, 3, 64, 1));
    net.run(MS * 5);
    assert_eq!(net.nodes[3].delivered, [1]);
    assert_eq!(net.kinds(0, "link-failure"), 1);
    net.link(0, 1, true);
    net.run(seconds(5));
    assert!(!net.nodes[0].core.symmetric().contains(&ip(1)));
    net.run(seconds(6));
    assert!(net.nodes[0].core.symmetric().contains(&ip(1)));
    // Without the report a packet is lost, and the link stays.
    let mut net = Net::chain(2, &settings());
    net.run(seconds(6));
    net.link(0, 1, false);
    net.transmit(0, packet(0, 1, 64, 1));
    assert_eq!((net.kinds(0, "drop"), net.kinds(0, "link-failure")), (1, 0));
    net.nodes[0].core.handle_failure(net.now, mac(9), &[]);
}

/// §14: a link counts after its quality exceeds the threshold, and no longer below the other.
#[test]
fn hysteresis_waits_for_packets_in_a_row() {
    let s = Settings {
        hysteresis: true,
        ..settings()
    };
    let mut net = Net::chain(2, &s);
    // Shares of 0.5, 0.75, 0.875: the third packet.
    net.run(seconds(3));
    assert!(net.nodes[0].core.symmetric().is_empty());
    net.run(seconds(9));
    assert!(net.nodes[0].core.symmetric().contains(&ip(1)));
    net.link(0, 1, false);
    // Two missed HELLOs leave a quarter, below 0.3, before the hold time is over.
    net.run(Duration::from_millis(5500));
    assert!(net.nodes[0].core.symmetric().is_empty());
}

/// §15: a TC has those that chose this station, also its own relays, or all neighbours.
#[test]
fn redundancy_adds_neighbours() {
    // In a triangle with a tail 0-1, nobody needs 2.
    let advertised = |tc_redundancy| {
        let s = Settings {
            tc_redundancy,
            ..settings()
        };
        let mut net = Net::new(4, &s, 1);
        for (a, b) in [(0, 1), (1, 2), (1, 3), (2, 3)] {
            net.link(a, b, true);
        }
        net.run(seconds(20));
        let of = |n: usize| net.nodes[n].core.advertised().len();
        [0, 1, 2].map(of)
    };
    assert_eq!(advertised(0), [0, 3, 0]);
    assert_eq!(advertised(1), [1, 3, 1]);
    assert_eq!(advertised(2), [1, 3, 2]);
}

/// ETX: two good links are better than a bad one.
#[test]
fn etx_avoids_a_bad_link() {
    let s = Settings {
        metric: Metric::Etx,
        tc_redundancy: 2,
        ..settings()
    };
    let mut net = Net::new(3, &s, 3);
    for (a, b) in [(0, 1), (1, 2), (0, 2)] {
        net.link(a, b, true);
    }
    net.run(seconds(60));
    assert_eq!(net.nodes[0].routes.get(&ip(2)), Some(&ip(2)));
    // Of what 2 sends, 0 hears nothing in five of seven seconds.
    for _ in 0..20 {
        net.links.remove(&(2, 0));
        net.run(Duration::from_millis(5000));
        net.links.insert((2, 0));
        net.run(Duration::from_millis(2000));
    }
    assert_eq!(net.nodes[0].routes.get(&ip(2)), Some(&ip(1)));
}
