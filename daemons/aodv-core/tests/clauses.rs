// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RFC 3561 by clause, over small networks.

use crate::support::{
    self, hop, ip, kernels_agree, mac, no_loop, packet, segment, settings, Net, MS,
};
use hoplab_aodv_core::message::{Reply, Request, RouteError};
use hoplab_aodv_core::{Duration, Event, Instant, Message, Protocol, Sequence, Settings};
use hoplab_routing_core::{Failure, Fate};

fn route(net: &Net, at: usize, to: usize) -> Option<(u8, usize)> {
    let route = net.nodes[at].core.table().valid(ip(to))?;
    Some((route.hops, support::station(route.next_hop)))
}

fn request(from: usize, to: usize, id: u32) -> Request {
    Request {
        gratuitous: false,
        destination_only: false,
        hops: 0,
        id,
        destination: ip(to),
        sequence: None,
        originator: ip(from),
        originator_sequence: Sequence(id),
        extensions: Vec::new(),
    }
}

fn reply(to: usize, of: usize, hops: u8, sequence: u32) -> Reply {
    Reply {
        acknowledge: false,
        prefix: 0,
        hops,
        destination: ip(of),
        sequence: Sequence(sequence),
        originator: ip(to),
        lifetime: MS * 6000,
        extensions: Vec::new(),
    }
}

fn hears(net: &mut Net, at: usize, from: usize, ttl: u8, message: Message) {
    let now = net.now;
    let node = &mut net.nodes[at].core;
    node.handle_message(now, hop(from), ttl, &message.emit());
    net.carry_out(at);
}

/// §6.3, §6.5 to §6.7: a packet waits, a request goes out, the reply makes the route.
#[test]
fn a_packet_waits_for_the_reply() {
    let mut net = Net::chain(5, &settings());
    net.check = no_loop;
    net.transmit(0, packet(0, 4, 64, 7));
    net.run(MS * 2000);
    assert_eq!(net.nodes[4].delivered, [7]);
    assert_eq!(route(&net, 0, 4), Some((4, 1)));
    assert_eq!(route(&net, 4, 0), Some((4, 3)));
    kernels_agree(&net);
    // Precursors on both sides: who is to hear of a break (§6.7).
    let table = net.nodes[2].core.table();
    let precursors = |to: usize| table.get(ip(to)).unwrap().precursors.clone();
    assert!(precursors(4).contains(&ip(1)) && precursors(0).contains(&ip(3)));
}

/// §6.4: rings of 1, 3, 5, 7 hops, then the whole network, each with its time.
#[test]
fn a_search_grows_ring_by_ring() {
    let mut net = Net::chain(1, &settings());
    net.transmit(0, packet(0, 3, 64, 1));
    let mut sent = Vec::new();
    while net.now < Instant::ZERO + Duration::from_secs(25) {
        let new = core::mem::take(&mut net.nodes[0].events);
        for event in &new {
            match event {
                Event::Discovery { ttl, .. } => sent.push((net.now.as_nanos() / 1_000_000, *ttl)),
                Event::Drop { cause, .. } => assert_eq!(cause.as_str(), "no-route"),
                other => panic!("{other}"),
            }
        }
        net.run(MS * 10);
    }
    // RING_TRAVERSAL_TIME = 80 ms * (TTL + 2); NET_TRAVERSAL_TIME = 2.8 s, doubled each time.
    let ttls: Vec<u8> = sent.iter().map(|(_, ttl)| *ttl).collect();
    assert_eq!(ttls, [1, 3, 5, 7, 35, 35, 35]);
    let waits: Vec<u64> = sent.windows(2).map(|w| w[1].0 - w[0].0).collect();
    assert_eq!(waits, [240, 400, 560, 720, 2800, 5600]);
    // The program hears of it (§6.3).
    assert_eq!(net.nodes[0].told, 1);
}

/// §6.4: a route that was known says how far to look.
#[test]
fn a_known_distance_is_the_first_ring() {
    let mut net = Net::chain(3, &settings());
    net.transmit(0, packet(0, 2, 64, 1));
    net.run(MS * 12_000);
    assert_eq!(route(&net, 0, 2), None);
    net.transmit(0, packet(0, 2, 64, 2));
    net.run(MS * 1000);
    let ttls: Vec<u8> = net.nodes[0]
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Discovery { ttl, .. } => Some(*ttl),
            _ => None,
        })
        .collect();
    // 2 hops and TTL_INCREMENT.
    assert_eq!(ttls, [1, 3, 4]);
    assert_eq!(net.nodes[2].delivered, [1, 2]);
}

/// §6.3: at most RREQ_RATELIMIT requests a second.
#[test]
fn requests_have_a_limit() {
    let mut net = Net::chain(1, &settings());
    for to in 1..30 {
        net.transmit(0, packet(0, to, 64, 1));
    }
    net.run(MS * 999);
    assert_eq!(net.kinds(0, "discovery"), 10);
    net.run(MS * 1000);
    assert_eq!(net.kinds(0, "discovery"), 20);
}

/// §6.5: a request is handled once; hops, sequence numbers and TTL go on.
#[test]
fn a_request_is_passed_on_once() {
    let mut net = Net::chain(2, &settings());
    let r = Request {
        hops: 4,
        ..request(5, 9, 1)
    };
    hears(&mut net, 0, 1, 3, Message::Request(r.clone()));
    hears(&mut net, 0, 2, 9, Message::Request(r.clone()));
    net.run(MS * 50);
    let own: Vec<_> = net.sent.iter().filter(|(n, _)| *n == 0).collect();
    assert_eq!(own.len(), 1);
    let sent = Message::parse(&own[0].1);
    assert_eq!(
        sent,
        Ok(Message::Request(Request {
            hops: 5,
            ..r.clone()
        }))
    );
    assert_eq!(route(&net, 0, 5), Some((5, 1)));
    // A TTL of 1 ends it.
    let last = Request { id: 2, ..r };
    hears(&mut net, 0, 1, 1, Message::Request(last));
    net.run(MS * 50);
    assert_eq!(net.sent.iter().filter(|(n, _)| *n == 0).count(), 1);
}

/// §6.6.1, §6.1: the destination gives out no number older than the one asked for.
#[test]
fn a_destination_answers_with_the_freshest_number() {
    let mut net = Net::chain(2, &settings());
    let asked = Request {
        sequence: Some(Sequence(41)),
        ..request(1, 0, 1)
    };
    hears(&mut net, 0, 1, 1, Message::Request(asked));
    assert_eq!(net.nodes[0].core.sequence(), Sequence(41));
    let stale = Request {
        sequence: Some(Sequence(3)),
        ..request(1, 0, 2)
    };
    hears(&mut net, 0, 1, 1, Message::Request(stale));
    assert_eq!(net.nodes[0].core.sequence(), Sequence(41));
}

/// §6.6.2, §6.6.3: a relay answers if its route is fresh enough and it may, and tells the
/// destination where the request asks for that.
#[test]
fn a_relay_answers_when_its_route_is_fresh() {
    let answers = |r: Request| {
        let mut net = Net::chain(3, &settings());
        hears(&mut net, 1, 2, 1, Message::Reply(reply(9, 2, 0, 10)));
        let before = net.sent.len();
        hears(&mut net, 1, 0, 1, Message::Request(r));
        net.run(MS * 20);
        let replies = net.sent[before..]
            .iter()
            .filter(|(n, b)| *n == 1 && b[0] == 2);
        replies.count()
    };
    let known = |n| Some(Sequence(n));
    assert_eq!(
        answers(Request {
            sequence: known(10),
            ..request(0, 2, 1)
        }),
        1
    );
    assert_eq!(answers(request(0, 2, 1)), 1);
    assert_eq!(
        answers(Request {
            sequence: known(11),
            ..request(0, 2, 1)
        }),
        0
    );
    assert_eq!(
        answers(Request {
            destination_only: true,
            ..request(0, 2, 1)
        }),
        0
    );
    assert_eq!(
        answers(Request {
            gratuitous: true,
            ..request(0, 2, 1)
        }),
        2
    );
}

/// §6.2, §6.7: newer numbers win, and among equal ones fewer hops.
#[test]
fn a_reply_replaces_only_what_it_beats() {
    let mut net = Net::chain(1, &settings());
    let mut take = |from: usize, hops, sequence| {
        hears(
            &mut net,
            0,
            from,
            1,
            Message::Reply(reply(0, 9, hops, sequence)),
        );
        route(&net, 0, 9)
    };
    assert_eq!(take(1, 4, 10), Some((5, 1)));
    assert_eq!(take(2, 4, 10), Some((5, 1)));
    assert_eq!(take(2, 3, 10), Some((4, 2)));
    assert_eq!(take(3, 0, 9), Some((4, 2)));
    assert_eq!(take(3, 7, 11), Some((8, 3)));
    // Over the roll-over.
    assert_eq!(take(4, 2, 0x7fff_ffff), Some((3, 4)));
    assert_eq!(take(5, 2, 0x8000_0003), Some((3, 5)));
}

/// §6.2, §6.11: a route without packets expires, and is remembered for DELETE_PERIOD with a number
/// that only its destination can give out.
#[test]
fn a_route_expires_and_is_remembered() {
    let mut net = Net::chain(1, &settings());
    hears(&mut net, 0, 1, 1, Message::Reply(reply(0, 9, 2, 10)));
    net.run(MS * 5999);
    assert!(route(&net, 0, 9).is_some());
    net.run(MS);
    assert_eq!(route(&net, 0, 9), None);
    let old = net.nodes[0].core.table().get(ip(9)).unwrap();
    assert_eq!(old.sequence, Some(Sequence(11)));
    hears(&mut net, 0, 1, 1, Message::Reply(reply(0, 9, 2, 10)));
    assert_eq!(route(&net, 0, 9), None);
    net.run(MS * 15_000);
    assert!(net.nodes[0].core.table().get(ip(9)).is_none());
}

/// §6.2: packets keep their route, the next hop, and the way back alive.
#[test]
fn packets_keep_routes_alive() {
    let mut net = Net::chain(3, &settings());
    net.transmit(0, packet(0, 2, 64, 0));
    for name in 1..40 {
        net.run(MS * 1000);
        net.transmit(0, packet(0, 2, 64, name));
    }
    net.run(MS * 1000);
    assert_eq!(net.nodes[2].delivered.len(), 40);
    assert_eq!(net.kinds(0, "discovery"), 2);
    assert_eq!(route(&net, 1, 0), Some((1, 0)));
    assert_eq!(route(&net, 2, 0), Some((2, 1)));
}

/// §6.2: packets that come keep the way on alive only where no acknowledgement can. Otherwise a
/// route stays whose frames the link layer loses without a report.
#[test]
fn a_route_without_acknowledgements_expires() {
    for link_layer_feedback in [true, false] {
        let kind = Settings {
            link_layer_feedback,
            ..settings()
        };
        let mut net = Net::chain(3, &kind);
        net.transmit(0, packet(0, 2, 64, 0));
        net.run(MS * 1000);
        for _ in 0..8 {
            let now = net.now;
            net.nodes[1].core.handle_received(now, mac(0), ip(0), ip(2));
            net.run(MS * 1000);
        }
        assert_eq!(route(&net, 1, 2).is_none(), link_layer_feedback);
    }
}

/// §6.11: a break goes back to the source, which looks again.
#[test]
fn a_route_error_reaches_the_source() {
    let plain = Settings {
        local_repair: false,
        ..settings()
    };
    let mut net = Net::chain(5, &plain);
    net.check = no_loop;
    net.transmit(0, packet(0, 4, 64, 1));
    net.run(MS * 1500);
    net.link(3, 4, false);
    net.transmit(0, packet(0, 4, 64, 2));
    net.run(MS * 200);
    assert_eq!(net.kinds(3, "link-failure"), 1);
    assert_eq!(net.kinds(0, "error"), 1);
    assert_eq!(route(&net, 0, 4), None);
    net.link(3, 4, true);
    net.transmit(0, packet(0, 4, 64, 3));
    net.run(MS * 3000);
    assert_eq!(net.nodes[4].delivered, [1, 3]);
}

/// A chain of five whose source has a route and tells its TCP of failures.
fn reporting(settings: &Settings) -> Net {
    let mut net = Net::chain(5, settings);
    net.nodes[0].core.report_failures();
    net.transmit(0, packet(0, 4, 64, 1));
    net.run(MS * 1500);
    assert_eq!(net.nodes[0].failures, []);
    net
}

/// The fate and sequence number of each segment that TCP heard of.
fn fates(net: &Net) -> Vec<(Fate, u32)> {
    let of = |failure: &Failure| match failure {
        Failure::Segment(segment) => Some((segment.fate, segment.sequence)),
        Failure::Routes(_) => None,
    };
    net.nodes[0].failures.iter().filter_map(of).collect()
}

/// ELFN: TCP learns of the destinations of a Route Error, but not of those of a mended route.
#[test]
fn tcp_hears_of_the_destinations_of_a_route_error() {
    for local_repair in [false, true] {
        let mut net = reporting(&Settings {
            local_repair,
            ..settings()
        });
        net.link(3, 4, false);
        net.transmit(0, segment(0, 4, 7));
        net.run(MS * 20);
        let gone = || [Failure::Routes([ip(4)].to_vec())];
        match local_repair {
            false => assert_eq!(net.nodes[0].failures, gone()),
            true => assert_eq!(net.nodes[0].failures, []),
        }
        // A repair that fails is a break.
        net.run(MS * 1500);
        assert_eq!(net.nodes[0].failures, gone());
        assert!(net.nodes[1].failures.is_empty());
    }
}

/// ELFN: at the source of the break, TCP learns of the route and then of its segments. One copy of
/// each waits, and a bare acknowledgement takes no data's place.
#[test]
fn tcp_hears_of_segments_that_wait_at_their_source() {
    let mut net = reporting(&settings());
    net.link(0, 1, false);
    let data = [&segment(0, 4, 7)[..], &[0; 8]].concat();
    for sent in [data.clone(), segment(0, 4, 8), data, segment(0, 4, 7)] {
        net.transmit(0, sent);
    }
    let [Failure::Routes(gone), Failure::Segment(_), ..] = &net.nodes[0].failures[..] else {
        panic!("{:?}", net.nodes[0].failures);
    };
    assert!(gone.contains(&ip(4)) && gone.contains(&ip(1)));
    assert_eq!(fates(&net), [7, 8, 7, 7].map(|n| (Fate::Held, n)));
    net.link(0, 1, true);
    net.run(MS * 3000);
    assert_eq!(net.nodes[4].delivered.len(), 1 + 3);
    // Where nobody finds a route, they are lost, and so is one that met the break without waiting.
    net.nodes[0].failures.clear();
    net.link(0, 1, false);
    net.transmit(0, segment(0, 4, 9));
    net.run(MS * 31_000);
    assert_eq!(fates(&net), [(Fate::Held, 9), (Fate::Dropped, 9)]);
    let mut net = reporting(&Settings {
        keep_failed_packets: false,
        ..settings()
    });
    net.link(0, 1, false);
    net.transmit(0, segment(0, 4, 7));
    assert_eq!(fates(&net), [(Fate::Dropped, 7)]);
}

/// §6.11: a packet for which a relay has no route brings a Route Error too.
#[test]
fn a_packet_without_a_route_brings_a_route_error() {
    let mut net = Net::chain(3, &settings());
    net.transmit(0, packet(0, 2, 64, 1));
    net.run(MS * 1000);
    net.nodes[1].core.flush(net.now);
    net.carry_out(1);
    net.transmit(0, packet(0, 2, 64, 2));
    net.run(MS * 100);
    assert_eq!((net.kinds(1, "drop"), net.kinds(0, "error")), (1, 1));
    assert_eq!(route(&net, 0, 2), None);
}

/// §6.11: at most RERR_RATELIMIT Route Errors a second.
#[test]
fn route_errors_have_a_limit() {
    let mut net = Net::chain(2, &settings());
    for name in 0..40 {
        net.transmit(1, packet(0, 7, 64, name));
    }
    assert_eq!(net.kinds(1, "error-sent"), 10);
    assert_eq!(net.kinds(1, "drop"), 40);
}

/// §6.12: a relay near the destination mends the route, and the packet that met the break arrives.
#[test]
fn a_relay_repairs_the_route() {
    // A way round: 2 - 5 - 4 instead of 2 - 3 - 4.
    let mut net = Net::new(6, &settings(), 1);
    for (a, b) in [(0, 1), (1, 2), (2, 3), (3, 4)] {
        net.link(a, b, true);
    }
    net.check = no_loop;
    net.transmit(0, packet(0, 4, 64, 1));
    net.run(MS * 1500);
    net.link(2, 3, false);
    net.link(2, 5, true);
    net.link(5, 4, true);
    net.transmit(0, packet(0, 4, 64, 2));
    net.run(MS * 400);
    assert_eq!(net.nodes[4].delivered, [1, 2]);
    assert_eq!(net.nodes[2].core.stats().repairs_done, 1);
    // The source still uses it: as long as before, so nobody needs to know.
    assert_eq!(net.kinds(0, "error"), 0);
    assert_eq!(route(&net, 0, 4), Some((4, 1)));
}

/// §6.12: a Route Error with the flag N reports a longer way and deletes nothing.
#[test]
fn a_longer_repair_is_told() {
    let mut net = Net::new(7, &settings(), 1);
    for (a, b) in [(0, 1), (1, 2), (2, 3), (3, 4)] {
        net.link(a, b, true);
    }
    net.transmit(0, packet(0, 4, 64, 1));
    net.run(MS * 1500);
    net.link(2, 3, false);
    for (a, b) in [(2, 5), (5, 6), (6, 4)] {
        net.link(a, b, true);
    }
    net.transmit(0, packet(0, 4, 64, 2));
    net.run(MS * 600);
    assert_eq!(net.nodes[4].delivered, [1, 2]);
    let told = net.nodes[0].events.iter().any(|event| {
        matches!(
            event,
            Event::ErrorReceived {
                no_delete: true,
                ..
            }
        )
    });
    assert!(told);
    assert!(route(&net, 0, 4).is_some());
}

/// §6.12: a repair that fails is a break.
#[test]
fn a_failed_repair_brings_a_route_error() {
    let mut net = Net::chain(5, &settings());
    net.transmit(0, packet(0, 4, 64, 1));
    net.run(MS * 1500);
    net.link(3, 4, false);
    net.transmit(0, packet(0, 4, 64, 2));
    net.run(MS * 100);
    assert_eq!(net.kinds(0, "error"), 0);
    net.run(MS * 1500);
    assert_eq!(net.kinds(0, "error"), 1);
    assert_eq!(net.kinds(3, "drop"), 1);
}

/// §6.8: a neighbour that gets no reply is not answered for BLACKLIST_TIMEOUT.
#[test]
fn a_one_way_link_is_blacklisted() {
    let mut net = Net::new(6, &settings(), 1);
    // Station 1 hears 5, but 5 does not hear 1.
    hears(&mut net, 1, 5, 1, Message::Request(request(5, 1, 1)));
    net.run(MS * 5);
    // The link layer gives the reply back.
    assert_eq!(net.sent.last().unwrap().1[0], 2);
    assert_eq!(net.kinds(1, "blacklist"), 1);
    let before = net.sent.len();
    hears(&mut net, 1, 5, 1, Message::Request(request(5, 1, 2)));
    net.run(MS * 5599);
    assert_eq!(net.sent.len(), before);
    hears(&mut net, 1, 5, 1, Message::Request(request(5, 1, 3)));
    net.run(MS * 10);
    assert!(net.sent.len() > before);
}

/// §6.7, §6.8: with the flag A the next hop confirms a reply, or is blacklisted.
#[test]
fn replies_can_be_acknowledged() {
    let careful = Settings {
        rrep_ack: true,
        ..settings()
    };
    let mut net = Net::chain(3, &careful);
    net.transmit(0, packet(0, 2, 64, 1));
    net.run(MS * 1500);
    assert_eq!(net.nodes[2].delivered, [1]);
    assert_eq!(net.nodes[0].core.stats().reply_acks_sent, 1);
    assert_eq!(net.nodes[1].core.stats().reply_acks_sent, 1);
    assert_eq!(net.kinds(2, "blacklist"), 0);
    // Nobody answers there.
    hears(&mut net, 2, 7, 1, Message::Request(request(7, 2, 1)));
    net.run(MS * 52);
    assert_eq!(net.kinds(2, "blacklist"), 1);
}

/// §6.9, §6.10: Hellos tell of neighbours, and their absence of a break.
#[test]
fn hellos_find_a_break_without_the_link_layer() {
    let deaf = Settings {
        hello: true,
        link_layer_feedback: false,
        local_repair: false,
        ..settings()
    };
    let mut net = Net::chain(3, &deaf);
    net.transmit(0, packet(0, 2, 64, 0));
    for name in 1..6 {
        net.run(MS * 1000);
        net.transmit(0, packet(0, 2, 64, name));
    }
    assert!(net.nodes[1].core.stats().hellos_sent >= 3);
    net.link(1, 2, false);
    for name in 6..10 {
        net.run(MS * 900);
        net.transmit(0, packet(0, 2, 64, name));
    }
    assert!(net.kinds(1, "link-failure") >= 1);
    assert!(net.kinds(0, "error") >= 1);
}

/// §6.13: after a reboot a station answers and sends nothing on for DELETE_PERIOD, and tells those
/// who still send by it.
#[test]
fn a_rebooted_station_waits() {
    let again = Settings {
        after_reboot: true,
        ..settings()
    };
    let mut net = Net::chain(3, &again);
    hears(&mut net, 1, 0, 9, Message::Request(request(0, 2, 1)));
    net.transmit(1, packet(1, 2, 64, 1));
    net.run(MS * 10_000);
    assert_eq!(net.sent.len(), 0);
    // A packet of others starts the wait anew.
    net.transmit(1, packet(0, 2, 64, 2));
    net.run(MS * 14_900);
    assert_eq!(net.kinds(1, "error-sent"), 1);
    assert_eq!(net.kinds(1, "discovery"), 0);
    net.run(MS * 200);
    assert_eq!(net.kinds(1, "discovery"), 1);
}

/// A flood of made-up requests fills tables of a known size, and leaves routes in use alone.
#[test]
fn a_flood_of_requests_leaves_used_routes() {
    let small = Settings {
        route_table_size: 64,
        request_table_size: 64,
        ..settings()
    };
    let mut net = Net::chain(3, &small);
    net.check = kernels_agree;
    net.transmit(0, packet(0, 2, 64, 0));
    net.run(MS * 1000);
    for id in 0..2000 {
        let from = 20 + (id as usize * 7) % 200;
        hears(
            &mut net,
            1,
            from,
            9,
            Message::Request(request((id as usize * 13) % 230 + 10, 240, id)),
        );
    }
    assert!(net.nodes[1].core.table().len() <= 64);
    assert_eq!(route(&net, 1, 2), Some((1, 2)));
    net.transmit(0, packet(0, 2, 64, 1));
    net.run(MS * 100);
    assert_eq!(net.nodes[2].delivered, [0, 1]);
}

/// A false number keeps true news out only until the next search: the destination exceeds it (§6.1).
#[test]
fn a_false_sequence_number_is_overcome() {
    let mut net = Net::new(8, &settings(), 1);
    net.link(0, 1, true);
    net.link(1, 2, true);
    net.transmit(0, packet(0, 2, 64, 0));
    net.run(MS * 1000);
    let false_number = reply(0, 2, 0, 0x4000_0000);
    hears(&mut net, 0, 7, 1, Message::Reply(false_number));
    assert_eq!(route(&net, 0, 2), Some((1, 7)));
    // Station 7 is out of reach: the link layer tells.
    net.transmit(0, packet(0, 2, 64, 1));
    net.run(MS * 3000);
    assert_eq!(net.nodes[2].delivered, [0, 1]);
}

/// A Route Error counts only from the neighbour that the route goes by.
#[test]
fn a_route_error_of_a_stranger_is_ignored() {
    let mut net = Net::chain(3, &settings());
    net.transmit(0, packet(0, 2, 64, 0));
    net.run(MS * 1000);
    let error = RouteError {
        no_delete: false,
        unreachable: vec![(ip(2), Sequence(99))],
    };
    hears(&mut net, 0, 7, 1, Message::Error(error.clone()));
    assert!(route(&net, 0, 2).is_some());
    hears(&mut net, 0, 1, 1, Message::Error(error));
    assert!(route(&net, 0, 2).is_none());
}
