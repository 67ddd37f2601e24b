// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a sender of TCP gets to know of a route that failed, and by which of the two carriages.

use crate::support::{ip, segment, settings, Net};
use hoplab_dsr_elfn::{Carriage, Fate, Notice, Notices, Settings};

fn net(carriage: Carriage, renews: bool) -> Net<Notices> {
    let notices = Settings {
        lost_segment_extension: true,
        carriage,
    };
    let layer = |i| Notices::new(ip(i), notices.clone(), renews);
    let mut net = Net::layered(4, &settings(), layer).chained();
    net.send_packet(0, &segment(0, 3, 1));
    net.run_s(1.0);
    assert!(net.told.iter().all(|(node, _)| *node == 0));
    net.told.clear();
    net.delivered_icmp.clear();
    net
}

#[test]
fn a_break_on_the_way_reaches_the_sender_in_the_route_error() {
    let mut net = net(Carriage::RouteError, false);
    net.link(1, 2, false);
    net.send_packet(0, &segment(0, 3, 1001));
    net.run_s(1.0);
    let (node, Notice(segments)) = &net.told[0];
    assert_eq!((*node, segments.len()), (0, 1));
    assert_eq!(segments[0].sequence, 1001);
    assert_eq!(segments[0].fate, Fate::Dropped);
    assert_eq!(
        (segments[0].source, segments[0].destination),
        (ip(0), ip(3))
    );
    assert!(net.delivered_icmp.is_empty());
}

#[test]
fn a_segment_that_waits_at_its_origin_is_held_until_it_is_dropped() {
    let mut net = net(Carriage::RouteError, false);
    net.link(0, 1, false);
    net.send_packet(0, &segment(0, 3, 1001));
    net.run_s(32.0);
    let fates: Vec<Fate> = net.told.iter().map(|(_, n)| n.0[0].fate).collect();
    assert_eq!(fates, [Fate::Held, Fate::Dropped]);
}

#[test]
fn icmp_host_unreachable_quotes_the_segment() {
    let mut net = net(Carriage::Icmp, false);
    net.link(1, 2, false);
    let sent = segment(0, 3, 1001);
    net.send_packet(0, &sent);
    net.run_s(1.0);
    assert!(net.told.is_empty());
    let (node, message) = &net.delivered_icmp[0];
    assert_eq!((*node, &message[..2]), (0, &[3, 1][..]));
    // RFC 792: the header and eight octets, of which the TTL and the checksum may have changed.
    assert_eq!(message.len(), 8 + 20 + 8);
    assert_eq!(&message[8 + 12..], &sent[12..28]);
}

#[test]
fn no_icmp_ends_the_opening_of_a_connection() {
    let mut net = net(Carriage::Icmp, false);
    net.link(1, 2, false);
    let mut opening = segment(0, 3, 1001);
    opening[20 + 13] = 2;
    net.send_packet(0, &opening);
    net.run_s(31.0);
    assert!(net.delivered_icmp.is_empty());
}

/// Three probes of a connection that stands by, and a segment of another.
#[test]
fn one_copy_of_a_segment_waits_where_connections_stand_by() {
    let after_three = |renews: bool| {
        let mut net = net(Carriage::RouteError, renews);
        net.link(0, 1, false);
        for sequence in [1001, 1001, 2001, 1001] {
            net.send_packet(0, &segment(0, 3, sequence));
            net.run_s(2.0);
        }
        net.delivered_tcp.clear();
        net.link(0, 1, true);
        net.run_s(20.0);
        let of =
            |bytes: &[u8]| u32::from_be_bytes(bytes[bytes.len() - 16..][..4].try_into().unwrap());
        let arrived = net.delivered_tcp.iter().map(|(_, tcp)| of(tcp));
        arrived.collect::<Vec<u32>>()
    };
    assert_eq!(after_three(false), [1001, 1001, 2001, 1001]);
    assert_eq!(after_three(true), [1001, 2001]);
}
