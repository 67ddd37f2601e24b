// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The protocol in a network of cores with scripted breaks: each test is one story.

use crate::support::{self, ip, settings, sized, Net};
use hoplab_dsr_core::settings::{Acknowledgement, CacheKind, CacheTimeout, Resolution};
use hoplab_dsr_core::{Duration, Event, Settings};

#[test]
fn discovery_crosses_ten_hops() {
    let mut net = Net::chain(11, &settings());
    net.send(0, 10, 1);
    net.run_s(2.0);
    assert!(net.delivered(1));
    net.check();
    assert_eq!(net.visits[&1], (0..=10).collect::<Vec<_>>());
    // The first request must not propagate (RFC 4728 §3.3.3).
    let ttls: Vec<u8> = net
        .events
        .iter()
        .filter_map(|(_, _, e)| match e {
            Event::Discovery { ttl, .. } => Some(*ttl),
            _ => None,
        })
        .collect();
    assert_eq!(ttls, [1, 255]);
}

#[test]
fn a_neighbour_is_found_by_the_first_request() {
    let mut net = Net::chain(2, &settings());
    net.send(0, 1, 1);
    net.run_s(0.029);
    assert!(net.delivered(1));
    assert_eq!(net.count("discovery"), 1);
}

#[test]
fn requests_back_off_exponentially_and_the_packet_times_out() {
    let mut net = Net::new(2, &settings());
    net.send(0, 1, 1);
    net.run_s(31.0);
    let times: Vec<f64> = net
        .events
        .iter()
        .filter(|e| e.2.kind() == "discovery")
        .map(|e| e.0 .0 as f64 / 1e9)
        .collect();
    let expected = [0.0, 0.03, 0.53, 1.53, 3.53, 7.53, 15.53, 25.53];
    assert_eq!(times.len(), expected.len(), "{times:?}");
    for (t, e) in times.iter().zip(expected) {
        assert!((t - e).abs() < 1e-6, "{times:?}");
    }
    assert_eq!(
        net.fates[&1],
        [support::Fate::Dropped(0, "send-buffer-timeout")]
    );
}

#[test]
fn the_send_buffer_drops_the_oldest() {
    let mut net = Net::new(2, &settings());
    for id in 1..=70 {
        net.send(0, 1, id);
    }
    for id in 1..=6 {
        assert_eq!(
            net.fates[&id],
            [support::Fate::Dropped(0, "send-buffer-full")]
        );
    }
    assert!(!net.fates.contains_key(&7));
}

#[test]
fn a_cached_reply_answers_without_reaching_the_target() {
    let mut net = Net::chain(5, &settings());
    // 0 must not overhear the route.
    net.link(0, 1, false);
    net.send(1, 4, 1);
    net.run_s(1.0);
    net.link(0, 1, true);
    let before = net.nodes[4].stats().replies_sent;
    net.send(0, 4, 2);
    net.run_s(1.0);
    assert!(net.delivered(2));
    assert_eq!(net.nodes[4].stats().replies_sent, before);
    assert_eq!(net.nodes[1].stats().cached_replies_sent, 1);

    let mut off = settings();
    off.reply_from_cache = false;
    let mut net = Net::chain(5, &off);
    net.send(1, 4, 1);
    net.run_s(1.0);
    net.send(0, 4, 2);
    net.run_s(1.0);
    assert!(net.delivered(2));
    assert_eq!(net.nodes[1].stats().cached_replies_sent, 0);
}

/// 0-1-2-3 in use, and a detour 2-4-3 that 2 has overheard; then 2-3 breaks under packet 2.
fn detour(s: &Settings) -> Net {
    let mut net = Net::with(5, &[(0, 1), (1, 2), (2, 3)], s);
    net.send(0, 3, 1);
    net.run_s(1.0);
    assert_eq!(net.visits[&1], [0, 1, 2, 3]);
    net.link(4, 3, true);
    net.send(4, 3, 900);
    net.run_s(1.0);
    net.link(2, 4, true);
    net.send(4, 3, 901);
    net.run_s(1.0);
    net.link(2, 3, false);
    net.send(0, 3, 2);
    net.run_s(1.0);
    net
}

#[test]
fn a_packet_is_salvaged_and_its_sender_told() {
    let net = detour(&settings());
    assert_eq!(net.visits[&2], [0, 1, 2, 4, 3]);
    assert!(net.delivered(2));
    assert_eq!(net.count_at(2, "salvage"), 1);
    assert_eq!(net.count_at(0, "error"), 1);
    net.check();

    let net = detour(&Settings {
        salvage: false,
        ..settings()
    });
    assert_eq!(net.fates[&2], [support::Fate::Dropped(2, "link-broken")]);
    assert_eq!(net.count_at(0, "error"), 1);
}

#[test]
fn a_route_is_shortened_when_a_later_hop_overhears() {
    let mut net = Net::chain(4, &settings());
    net.send(0, 3, 1);
    net.run_s(1.0);
    assert_eq!(net.visits[&1], [0, 1, 2, 3]);
    // 2 moves into the reach of 0.
    net.link(0, 2, true);
    net.send(0, 3, 2);
    net.run_s(0.5);
    assert_eq!(net.nodes[2].stats().gratuitous_replies_sent, 1);
    net.send(0, 3, 3);
    net.run_s(0.5);
    assert_eq!(net.visits[&3], [0, 2, 3]);
    net.check();
}

#[test]
fn gratuitous_replies_are_held_off() {
    let mut s = settings();
    s.grat_reply_holdoff_ns = Duration::from_secs(1);
    let mut net = Net::chain(4, &s);
    net.send(0, 3, 1);
    net.run_s(1.0);
    net.link(0, 2, true);
    // Break the way back for the reply, so that the sender keeps its long route.
    for id in 2..6 {
        net.send(0, 3, id);
    }
    net.run_s(0.5);
    assert_eq!(net.nodes[2].stats().gratuitous_replies_sent, 1);
}

/// RFC 4728 §8.2.5: A asks for G; neighbours B to F all know a way, B the shortest.
fn storm(prevent: bool) -> Net {
    let mut s = settings();
    s.prevent_reply_storms = prevent;
    s.nonpropagating_first = true;
    s.reply_hop_delay_ns = Duration::from_millis(5);
    // 0 = A, 1 = B, 2..=5 = C to F, 6 = G.
    let mut net = Net::new(7, &s);
    net.link(1, 6, true);
    for n in 2..=5 {
        net.link(1, n, true);
    }
    for n in 1..=5 {
        net.send(n, 6, 100 + n as u16);
        net.run_s(0.5);
    }
    for n in 1..=5 {
        net.link(0, n, true);
    }
    net.send(0, 6, 1);
    net.run_s(1.0);
    assert!(net.delivered(1));
    net
}

#[test]
fn reply_storms_are_prevented() {
    let quiet = storm(true);
    let loud = storm(false);
    let replies = |net: &Net| {
        (1..6)
            .map(|n| net.nodes[n].stats().cached_replies_sent)
            .sum::<u64>()
    };
    assert!(quiet.count("reply-suppressed") >= 3, "{:?}", quiet.events);
    assert!(
        replies(&quiet) < replies(&loud),
        "{} {}",
        replies(&quiet),
        replies(&loud)
    );
}

#[test]
fn a_unidirectional_link_is_blacklisted_and_avoided() {
    // 0 hears 1 and 1 hears 0, but 2 hears 1 only through a one-way link 1 -> 2; 1-3-2 works.
    let mut net = Net::new(4, &settings());
    net.link(0, 1, true);
    net.one_way(1, 2, true);
    net.link(1, 3, true);
    net.link(3, 2, true);
    net.send(0, 2, 1);
    net.run_s(3.0);
    assert!(net.delivered(1), "{:?}", net.events);
    assert_eq!(net.visits[&1], [0, 1, 3, 2]);
    assert!(net.count_at(2, "blacklist") > 0);
    net.check();
}

#[test]
fn an_error_reaches_every_cache_with_the_next_request() {
    // A ring would let others answer with the dead link: the error rides on the next request.
    let mut net = Net::chain(5, &settings());
    net.send(0, 4, 1);
    net.run_s(1.0);
    net.link(3, 4, false);
    net.send(0, 4, 2);
    net.run_s(2.0);
    let dead = [ip(3), ip(4)];
    for n in 0..4 {
        let routes = net.nodes[n].routes(net.now);
        assert!(
            !routes.iter().any(|r| r.windows(2).any(|w| w == dead)),
            "{n}: {routes:?}"
        );
    }
}

#[test]
fn packets_queued_for_a_broken_link_are_pulled_back() {
    let mut net = Net::with(4, &[(0, 1), (1, 2), (0, 3), (3, 2)], &settings());
    net.send(0, 2, 1);
    net.run_s(1.0);
    let via = net.visits[&1][1];
    net.link(via, 0, false);
    for id in 2..40 {
        net.send(0, 2, id);
    }
    net.run_s(2.0);
    net.check();
    for id in 2..40 {
        assert!(net.delivered(id), "packet {id}: {:?}", net.fates.get(&id));
    }
    // Two frames were with the driver; the rest never went out on the dead link.
    assert!(net.nodes[0].stats().link_failures <= 2);
}

#[test]
fn without_link_feedback_passive_and_network_acknowledgements_serve() {
    for ack in [Acknowledgement::Passive, Acknowledgement::Network] {
        let mut s = settings();
        s.acknowledgement = ack;
        let mut net = Net::with(5, &[(0, 1), (1, 2), (2, 3), (1, 4), (4, 3)], &s);
        for id in 1..5 {
            net.send(0, 3, id);
            net.run_s(1.0);
        }
        assert!(
            (1..5).all(|id| net.delivered(id)),
            "{ack:?} {:?}",
            net.fates
        );
        assert_eq!(net.count("link-failure"), 0, "{ack:?}: {:?}", net.events);
        let via = net.visits[&4][2];
        net.link(1, via, false);
        for id in 5..10 {
            net.send(0, 3, id);
            net.run_s(2.0);
        }
        assert!(net.count_at(1, "link-failure") > 0, "{ack:?}");
        assert!(net.delivered(9), "{ack:?} {:?}", net.events);
    }
}

#[test]
fn arp_resolves_next_hops_and_a_short_queue_loses_packets() {
    for (queue, lost) in [(101, 0), (1, 9)] {
        let mut s = settings();
        s.resolution = Resolution::Arp;
        s.arp_queue_packets = queue;
        let mut net = Net::chain(3, &s);
        net.send(0, 2, 900);
        net.run_s(3.0);
        assert!(net.delivered(900), "{:?} {:?}", net.events, net.arp_frames);
        // The neighbour's entry grows stale while the route stays.
        net.run_s(31.0);
        for id in 1..=10 {
            net.send(0, 2, id);
        }
        net.run_s(3.0);
        assert!(
            net.arp_frames >= 4,
            "two links need two exchanges: {}",
            net.arp_frames
        );
        let arp = [support::Fate::Dropped(0, "arp")];
        let dropped = (1..=10).filter(|id| net.fates.get(id).is_some_and(|f| f[..] == arp));
        assert_eq!(dropped.count(), lost, "queue of {queue}: {:?}", net.fates);
        // The last packet in is the one that stays (BSD).
        assert!(net.delivered(10));
    }
}

#[test]
fn both_caches_and_all_timeouts_deliver() {
    for cache in [CacheKind::Path, CacheKind::Link] {
        for timeout in [
            CacheTimeout::None,
            CacheTimeout::Unused,
            CacheTimeout::Fixed,
            CacheTimeout::Adaptive,
        ] {
            let mut s = settings();
            s.cache = cache;
            s.cache_timeout = timeout;
            s.route_cache_timeout_ns = Duration::from_secs(5);
            s.negative_cache_ns = Duration::from_secs(2);
            let mut net = Net::chain(6, &s);
            for id in 1..20 {
                net.send(0, 5, id);
                net.run_s(1.0);
            }
            assert!((1..20).all(|id| net.delivered(id)), "{cache:?} {timeout:?}");
            let searches = net.count("discovery");
            // A fixed timeout must ask again every five seconds; the others need not.
            let again = timeout == CacheTimeout::Fixed;
            assert_eq!(searches > 2, again, "{cache:?} {timeout:?}: {searches}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let history = || {
        let mut net = Net::chain(8, &settings());
        for id in 1..20 {
            net.send(usize::from(id) % 8, 7 - usize::from(id) % 3, id);
            net.run_s(0.05);
        }
        net.run_s(5.0);
        (format!("{:?}", net.events), net.frames)
    };
    assert_eq!(history(), history());
}

#[test]
fn a_packet_that_does_not_fit_a_frame_is_told_the_size_that_does() {
    let mut net = Net::chain(4, &settings());
    net.send(0, 3, 1);
    net.run_s(1.0);
    // hwsim takes frames of 2304 octets, with a MAC header of 24, LLC and SNAP of 8. Beside IP
    // there are a DSR header of 4 and a source route of 4 with two addresses of 4.
    let fits = 2304 - 24 - 8 - 16;
    for length in [fits, fits + 1] {
        net.send_packet(0, &sized(0, 3, length));
    }
    net.run_s(1.0);
    assert_eq!(net.count("drop"), 1);
    let [(0, message)] = &net.delivered_icmp[..] else {
        panic!("{:?}", net.delivered_icmp);
    };
    assert_eq!(message[..2], [3, 4]);
    assert_eq!(message[6..8], (fits as u16).to_be_bytes());
}
