// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stations among which a program sends packets with false DSR headers (RFC 4728 §11): what the
//! poison does, and how long it lasts.

use crate::support::{ip, settings, Fate, Net};
use hoplab_dsr_core::cache::{link::LinkCache, Origin, RouteCache, Store};
use hoplab_dsr_core::neighbours::Neighbours;
use hoplab_dsr_core::settings::{CacheKind, Resolution};
use hoplab_dsr_core::tables::MOST_ENTRIES;
use hoplab_dsr_core::wire::options::MAX_ADDRESSES;
use hoplab_dsr_core::wire::{
    DsrOption, ErrorKind, Ipv4Header, Packet, RouteError, RouteRequest, SourceRoute, NO_NEXT_HEADER,
};
use hoplab_dsr_core::{Instant, Mac, Settings, Stream};
use std::net::Ipv4Addr;

const STATIONS: usize = 6;
const FALSE_PACKETS: usize = 600;

/// A packet between stations of the network, whose options tell of links that may not exist.
fn false_packet(random: &mut Stream) -> Packet {
    let mut node = || ip(random.below(STATIONS as u32) as usize);
    let (source, destination) = (node(), node());
    let addresses: Vec<Ipv4Addr> = (0..3).map(|_| node()).collect();
    let error = RouteError {
        kind: ErrorKind::NodeUnreachable(node()),
        salvage: 0,
        source: node(),
        destination: node(),
        extension: vec![],
    };
    let listed = 1 + random.below(3) as usize;
    let route = SourceRoute {
        first_hop_external: false,
        last_hop_external: false,
        salvage: random.below(2) as u8,
        segments_left: random.below(listed as u32 + 1) as u8,
        addresses: addresses[..listed].to_vec(),
    };
    let request = RouteRequest {
        identification: random.below(40) as u16,
        target: destination,
        addresses: addresses[..listed - 1].to_vec(),
    };
    let reply = DsrOption::RouteReply {
        last_hop_external: false,
        addresses,
    };
    let (to, options) = match random.below(4) {
        0 => (Ipv4Addr::BROADCAST, vec![DsrOption::RouteRequest(request)]),
        1 => (destination, vec![DsrOption::SourceRoute(route), reply]),
        2 => (destination, vec![reply]),
        _ => (
            destination,
            vec![DsrOption::SourceRoute(route), DsrOption::RouteError(error)],
        ),
    };
    Packet {
        ip: Ipv4Header::new(source, to, NO_NEXT_HEADER, 64),
        options: Some(options),
        payload: vec![],
    }
}

/// A chain in use, then 600 false packets sent at each of the stations 1 and 2.
fn poisoned(settings: &Settings, seed: u64) -> Net {
    let mut net = Net::chain(STATIONS, settings);
    net.send(0, 3, 1);
    net.run_s(1.0);
    assert!(net.delivered(1));
    let mut random = Stream::new(seed, "poison");
    for _ in 0..FALSE_PACKETS {
        for liar in [1, 2] {
            let to = match random.below(3) {
                0 => Some(liar - 1),
                1 => Some(liar + 1),
                _ => None,
            };
            net.inject(liar, to, false_packet(&mut random).emit());
        }
        net.run_s(0.01);
    }
    net
}

/// Seconds until a packet a second from station 0 to station 3 arrives, `limit` at most.
fn dead_for(net: &mut Net, limit: u16) -> u16 {
    let last = (2..limit).find(|id| {
        net.send(0, 3, *id);
        net.run_s(1.0);
        net.delivered(*id)
    });
    last.unwrap_or(limit) - 2
}

#[test]
fn false_packets_of_stations_in_the_route_hold_it_up_for_seconds() {
    for cache in [CacheKind::Path, CacheKind::Link] {
        for resolution in [Resolution::Learned, Resolution::Arp] {
            for seed in 1..=2 {
                let settings = Settings {
                    cache,
                    resolution,
                    ..settings()
                };
                let mut net = poisoned(&settings, seed);
                let dead = dead_for(&mut net, 780);
                assert!(dead <= 5, "{cache:?} {resolution:?} {seed}: {dead} s");
            }
        }
    }
}

/// Station 1 takes station 2 for station 3, out of its range, and station 0 believes that 1 and 3
/// are neighbours. Station 2 acknowledges what 1 sends to 3, so that no link breaks.
#[test]
fn a_station_taken_for_another_says_who_it_is() {
    let mut net = Net::chain(4, &settings());
    net.send(0, 3, 1);
    net.run_s(1.0);
    let control = |from: usize, to: usize, options| Packet {
        ip: Ipv4Header::new(ip(from), ip(to), NO_NEXT_HEADER, 64),
        options: Some(options),
        payload: vec![],
    };
    let reply = |addresses| DsrOption::RouteReply {
        last_hop_external: false,
        addresses,
    };
    let false_route = control(1, 0, vec![reply(vec![ip(1), ip(3)])]);
    net.inject(1, Some(0), false_route.emit());
    let false_name = control(3, 1, vec![reply(vec![ip(3)])]);
    net.inject(2, Some(1), false_name.emit());
    net.run_s(0.5);
    net.send(0, 3, 2);
    net.run_s(0.5);
    assert_eq!(net.fates[&2], [Fate::Dropped(2, "not-for-us")]);
    net.send(0, 3, 3);
    net.run_s(1.0);
    assert!(net.delivered(3), "{:?}", net.fates.get(&3));
}

/// An address that nobody has.
fn made_up(n: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a01_0000 + n)
}

#[test]
fn a_reply_that_lists_a_node_twice_leaves_the_back_off_as_it_is() {
    let mut net = Net::with(3, &[(0, 1)], &settings());
    net.send(0, 2, 1);
    net.run_s(4.0);
    let asked = net.count_at(0, "discovery");
    let reply = DsrOption::RouteReply {
        last_hop_external: false,
        addresses: vec![ip(1), ip(1), ip(2)],
    };
    let packet = Packet::control(ip(1), ip(0), vec![reply]);
    net.inject(1, Some(0), packet.emit());
    // Requests go at 3.53 and 7.53 s; without its entry the target would be asked for no more.
    net.run_s(3.0);
    assert_eq!(net.count_at(0, "discovery"), asked);
    net.run_s(1.0);
    assert_eq!(net.count_at(0, "discovery"), asked + 1);
}

#[test]
fn made_up_addresses_do_not_make_tables_grow_without_limit() {
    let settings = settings();
    let mut neighbours = Neighbours::default();
    let mut cache = LinkCache::new(ip(0), &settings);
    for n in 0..20_000u32 {
        let now = Instant(u64::from(n));
        let [.., a, b] = n.to_be_bytes();
        neighbours.learn(now, made_up(n), Mac([2, 0, 0, 0, a, b]), &settings);
        let route = [ip(0), made_up(n)];
        cache.learn(now, &route, Origin::Discovered);
    }
    assert_eq!(neighbours.len(), MOST_ENTRIES);
    // The newest are kept.
    assert!(neighbours.mac_of(made_up(19_999)).is_some());
    let kept = cache.routes(Instant(20_000));
    assert_eq!(kept.len(), 4096);
    assert!(kept.contains(&vec![ip(0), made_up(19_999)]));
}

/// A source route has room for so many stations between its ends; a longer one would not arrive.
#[test]
fn no_route_is_longer_than_every_option_has_room_for() {
    for cache in [CacheKind::Path, CacheKind::Link] {
        let settings = Settings {
            cache,
            ..settings()
        };
        let mut store = Store::new(ip(0), &settings);
        let nodes: Vec<Ipv4Addr> = (0..=MAX_ADDRESSES + 2).map(ip).collect();
        let now = Instant::default();
        store.learn(now, &nodes, Origin::Discovered);
        let longest = store.find(now, ip(MAX_ADDRESSES + 1), &[]);
        assert_eq!(longest.as_deref(), Some(&nodes[..MAX_ADDRESSES + 2]));
        assert_eq!(store.find(now, ip(MAX_ADDRESSES + 2), &[]), None);
    }
}
