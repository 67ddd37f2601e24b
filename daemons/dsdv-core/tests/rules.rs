// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The paper's rules, over small networks.

use crate::support::{hop, ip, no_loop, packet, settings, station, Net, MS};
use hoplab_dsdv_core::message::{emit, parse, Malformed, Row, INFINITE};
use hoplab_dsdv_core::{Duration, Protocol, Sequence, Settings};

fn seconds(s: u64) -> Duration {
    Duration::from_secs(s)
}

fn row(to: usize, hops: u32, sequence: u32) -> Row {
    Row {
        destination: ip(to),
        hops,
        sequence: Sequence(sequence),
    }
}

fn hears(net: &mut Net, at: usize, from: usize, rows: &[Row]) {
    let now = net.now;
    net.nodes[at]
        .core
        .handle_message(now, hop(from), 1, &emit(rows));
    net.carry_out(at);
}

/// Next hop, hops and number of a route.
fn route(net: &Net, at: usize, to: usize) -> Option<(usize, u32, u32)> {
    let route = net.nodes[at].core.table().get(&ip(to))?;
    Some((station(route.next_hop), route.hops, route.sequence.0))
}

fn updates(net: &Net, n: usize) -> Vec<Vec<Row>> {
    let of = net.sent.iter().filter(|(from, _)| *from == n);
    of.map(|(_, octets)| parse(octets).expect("an update"))
        .collect()
}

#[test]
fn an_update_is_rows_of_twelve_octets() {
    let octets = emit(&[row(1, 2, 0x0102), row(2, INFINITE, 7)]);
    assert_eq!(octets[..12], [10, 0, 0, 2, 0, 0, 0, 2, 0, 0, 1, 2]);
    assert_eq!(octets[16..20], [255; 4]);
    assert_eq!(
        parse(&octets),
        Ok(vec![row(1, 2, 0x0102), row(2, INFINITE, 7)])
    );
    assert_eq!(parse(&octets[..23]), Err(Malformed));
    assert_eq!(parse(&[]), Err(Malformed));
}

#[test]
fn every_station_learns_the_way_to_every_other() {
    let mut net = Net::chain(6, &settings());
    net.check = no_loop;
    net.run(seconds(20));
    for node in &net.nodes {
        assert_eq!(node.routes.len(), 5);
    }
    assert_eq!(
        route(&net, 0, 5).map(|(by, hops, _)| (by, hops)),
        Some((1, 5))
    );
    net.transmit(0, packet(0, 5, 64, 7));
    net.run(MS * 10);
    assert_eq!(net.nodes[5].delivered, [7]);
}

/// §3: the newer number wins, then fewer hops; older news are nothing.
#[test]
fn the_newer_number_wins_and_then_the_shorter_way() {
    let mut net = Net::new(3, &settings(), 1);
    hears(&mut net, 0, 1, &[row(1, 0, 2), row(9, 4, 100)]);
    assert_eq!(route(&net, 0, 9), Some((1, 5, 100)));
    hears(&mut net, 0, 2, &[row(9, 3, 100)]);
    assert_eq!(route(&net, 0, 9), Some((2, 4, 100)));
    hears(&mut net, 0, 1, &[row(9, 3, 100)]);
    hears(&mut net, 0, 1, &[row(9, 0, 98)]);
    assert_eq!(route(&net, 0, 9), Some((2, 4, 100)));
    hears(&mut net, 0, 1, &[row(9, 8, 102)]);
    assert_eq!(route(&net, 0, 9), Some((1, 9, 102)));
    assert_eq!(net.nodes[0].routes.get(&ip(9)), Some(&ip(1)));
    // Nobody believes in a way to the station itself, to all or to nobody.
    let odd = ["255.255.255.255", "224.0.0.1", "0.0.0.0"].map(|address| Row {
        destination: address.parse().expect("an address"),
        ..row(0, 1, 500)
    });
    hears(&mut net, 0, 1, &odd);
    assert_eq!(net.nodes[0].core.table().len(), 2);
}

/// §3: a break has an odd number and no end of hops. An update has it at once. It ends with the next
/// number of the destination.
#[test]
fn a_break_is_told_at_once_and_mended_by_the_destination() {
    let mut net = Net::new(4, &settings(), 1);
    net.check = no_loop;
    for (a, b) in [(0, 1), (1, 3), (0, 2), (2, 3)] {
        net.link(a, b, true);
    }
    net.run(seconds(40));
    let (by, _, before) = route(&net, 0, 3).expect("a route");
    net.sent.clear();
    net.link(0, by, false);
    net.transmit(0, packet(0, 3, 64, 1));
    let broken = route(&net, 0, 3).expect("a memory");
    assert_eq!((broken.1, broken.2), (INFINITE, before + 1));
    assert!(net.nodes[0].core.holds() && !net.nodes[0].routes.contains_key(&ip(3)));
    net.run(MS * 11);
    let told = &updates(&net, 0)[0];
    assert!(told.contains(&row(3, INFINITE, before + 1)), "{told:?}");
    // The next number of 3 comes within its interval, and the packet goes.
    net.run(seconds(16));
    assert_eq!(net.nodes[3].delivered, [1]);
    let mended = route(&net, 0, 3).expect("a route");
    assert!(mended.0 != by && mended.2 > before + 1 && mended.2 % 2 == 0);
}

/// A station that hears that it is lost gives out a number that is newer, at once.
#[test]
fn a_station_that_is_said_to_be_lost_contradicts() {
    let mut net = Net::chain(2, &settings());
    net.run(seconds(3));
    net.sent.clear();
    let false_number = net.nodes[0].core.sequence().0 + 501;
    hears(&mut net, 0, 1, &[row(0, INFINITE, false_number)]);
    net.run(MS * 11);
    assert_eq!(updates(&net, 0)[0][0], row(0, 0, false_number + 1));
    assert_eq!(net.nodes[0].core.sequence().0 % 2, 0);
}

/// §3: of a longer way with a new number others hear later.
#[test]
fn a_longer_way_waits_for_its_settling_times() {
    // The settling time is 6 s until one was measured.
    for (damp_times, told_s) in [(0, 0), (1, 6), (2, 12)] {
        let s = Settings {
            damp_times,
            update_interval_ns: seconds(60),
            ..settings()
        };
        let mut net = Net::new(2, &s, 1);
        hears(&mut net, 0, 1, &[row(1, 0, 2), row(9, 2, 100)]);
        net.run(seconds(3));
        net.sent.clear();
        hears(&mut net, 0, 1, &[row(9, 5, 102)]);
        let tells = |net: &Net| updates(net, 0).concat().contains(&row(9, 6, 102));
        net.run(seconds(told_s) - MS);
        assert!(!tells(&net));
        net.run(MS * 20);
        assert!(tells(&net));
    }
}

/// Others hear of a shorter way at once, or after its settling time as well.
#[test]
fn a_shorter_way_waits_where_it_shall() {
    for damp_shorter in [false, true] {
        let s = Settings {
            damp_times: 1,
            damp_shorter,
            update_interval_ns: seconds(60),
            ..settings()
        };
        let mut net = Net::new(2, &s, 1);
        hears(&mut net, 0, 1, &[row(1, 0, 2), row(9, 5, 100)]);
        net.run(seconds(3));
        net.sent.clear();
        hears(&mut net, 0, 1, &[row(9, 2, 102)]);
        let tells = |net: &Net| updates(net, 0).concat().contains(&row(9, 3, 102));
        net.run(seconds(2));
        assert_eq!(tells(&net), !damp_shorter);
        net.run(seconds(5));
        assert!(tells(&net));
    }
}

/// DSDV-SQ: a new number alone is in an update.
#[test]
fn a_number_alone_triggers_where_it_shall() {
    for on in [false, true] {
        let s = Settings {
            triggered_by_sequence: on,
            update_interval_ns: seconds(60),
            ..settings()
        };
        let mut net = Net::new(2, &s, 1);
        hears(&mut net, 0, 1, &[row(1, 0, 2), row(9, 2, 100)]);
        net.run(seconds(3));
        net.sent.clear();
        hears(&mut net, 0, 1, &[row(9, 2, 102)]);
        net.run(seconds(2));
        assert_eq!(updates(&net, 0).concat().contains(&row(9, 3, 102)), on);
    }
}

/// Breaks that others than the next hop tell of count, or not.
#[test]
fn breaks_count_by_who_tells_of_them() {
    for breaks_of_next_hop in [false, true] {
        let s = Settings {
            breaks_of_next_hop,
            ..settings()
        };
        let mut net = Net::new(3, &s, 1);
        hears(&mut net, 0, 1, &[row(1, 0, 2), row(9, 2, 100)]);
        hears(&mut net, 0, 2, &[row(9, INFINITE, 101)]);
        assert_eq!(net.nodes[0].routes.contains_key(&ip(9)), breaks_of_next_hop);
        hears(&mut net, 0, 1, &[row(9, INFINITE, 101)]);
        assert!(!net.nodes[0].routes.contains_key(&ip(9)));
    }
}

#[test]
fn what_is_silent_goes() {
    let mut net = Net::chain(3, &settings());
    net.run(seconds(20));
    net.link(1, 2, false);
    // Its latest number is at most 15 s old.
    net.run(seconds(29));
    assert!(net.nodes[1].routes.contains_key(&ip(2)));
    net.run(seconds(17));
    assert!(net.nodes.iter().all(|node| node.routes.len() <= 1));
    assert_eq!(net.kinds(1, "link-failure"), 1);
    net.run(seconds(60));
    assert_eq!(net.nodes[1].core.table().len(), 1);
    // Packets of the station itself wait, and it hears that they came to nothing.
    net.transmit(1, packet(1, 2, 64, 1));
    net.run(seconds(31));
    assert_eq!((net.kinds(1, "drop"), net.nodes[1].told), (1, 1));
}

#[test]
fn without_a_queue_packets_without_a_route_are_lost() {
    let s = Settings {
        queue_packets: 0,
        ..settings()
    };
    let mut net = Net::chain(2, &s);
    net.transmit(0, packet(0, 1, 64, 1));
    assert_eq!((net.kinds(0, "drop"), net.nodes[0].told), (1, 1));
}
