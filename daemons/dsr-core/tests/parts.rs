// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parts that own a state of their own, each alone.

use crate::support::settings;
use hoplab_dsr_core::agenda::{Agenda, Delayed};
use hoplab_dsr_core::layer::{Either, Fate, Layer, Meeting, Report, Stopped, Warning};
use hoplab_dsr_core::maintenance::{Expired, MaintenanceBuffer};
use hoplab_dsr_core::queue::Item;
use hoplab_dsr_core::settings::Acknowledgement;
use hoplab_dsr_core::signals::Signals;
use hoplab_dsr_core::tables::{News, SendBuffer, Waiting};
use hoplab_dsr_core::wire::{DsrOption, ErrorKind, Ipv4Header, Packet, RouteError, SourceRoute};
use hoplab_dsr_core::{Duration, Instant, Settings};
use std::net::Ipv4Addr;

fn a(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

/// From 1 by 2 and 3 to 4, as 1 sends it.
fn packet(id: u16) -> Packet {
    let mut packet = Packet {
        ip: Ipv4Header::new(a(1), a(4), 17, 64),
        options: Some(vec![DsrOption::SourceRoute(SourceRoute {
            first_hop_external: false,
            last_hop_external: false,
            salvage: 0,
            segments_left: 2,
            addresses: vec![a(2), a(3)],
        })]),
        payload: vec![0; 10],
    };
    packet.ip.identification = id;
    packet
}

fn item(id: u16) -> Item {
    Item {
        packet: packet(id),
        next_hop: Some(a(2)),
        routing: false,
        maintained: true,
        attempts: 0,
        since: Instant(0),
    }
}

fn ms(n: u64) -> Instant {
    Instant(n * 1_000_000)
}

fn by(acknowledgement: Acknowledgement) -> Settings {
    Settings {
        acknowledgement,
        ..settings()
    }
}

/// Sends `item` to 2; the identification of its Acknowledgement Request, if it has one.
fn send(buffer: &mut MaintenanceBuffer, now: Instant, mut item: Item, s: &Settings) -> Option<u16> {
    buffer.request(now, &mut item, a(2), s);
    let asks = item.packet.options().iter().find_map(|o| match o {
        DsrOption::AckRequest { identification } => Some(*identification),
        _ => None,
    });
    buffer.sent(now, item, a(2), s);
    asks
}

#[test]
fn with_feedback_of_the_link_nothing_is_maintained() {
    let mut buffer = MaintenanceBuffer::default();
    let s = by(Acknowledgement::Link);
    assert_eq!(send(&mut buffer, ms(0), item(1), &s), None);
    assert!(buffer.is_empty());
}

#[test]
fn an_acknowledgement_confirms_all_packets_of_its_hop_and_holds_off_requests() {
    let mut buffer = MaintenanceBuffer::default();
    let s = by(Acknowledgement::Network);
    let first = send(&mut buffer, ms(0), item(1), &s).unwrap();
    send(&mut buffer, ms(1), item(2), &s).unwrap();
    assert!(!buffer.acknowledged(ms(2), first, a(3)), "of another hop");
    assert!(buffer.acknowledged(ms(20), first, a(2)));
    assert!(buffer.is_empty());
    assert_eq!(send(&mut buffer, ms(30), item(3), &s), None);
    // MaintHoldoffTime is over. The round trip of 20 ms now makes the wait: 20 + 4 x 10 ms.
    assert!(send(&mut buffer, ms(300), item(4), &s).is_some());
    assert_eq!(buffer.next_deadline(), Some(ms(360)));
}

#[test]
fn a_packet_without_an_answer_is_sent_again_ever_later_and_then_fails() {
    let mut buffer = MaintenanceBuffer::default();
    let s = by(Acknowledgement::Network);
    let mut ids = vec![send(&mut buffer, ms(0), item(1), &s)];
    let mut at = vec![];
    loop {
        let now = buffer.next_deadline().unwrap();
        at.push(now);
        match buffer.expire(now, &s).unwrap() {
            Expired::Again(item, _) => ids.push(send(&mut buffer, now, item, &s)),
            Expired::Failed(item, hop) => {
                assert_eq!((item.packet.ip.identification, hop), (1, a(2)));
                break;
            }
        }
    }
    // MaxMaintRexmt = 2, each transmission with an identification of its own.
    assert_eq!(ids, [Some(1), Some(2), Some(3)]);
    assert_eq!(at, [ms(200), ms(600), ms(1400)]);
    assert!(buffer.is_empty());
}

#[test]
fn a_next_hop_that_is_heard_forwarding_is_confirmed() {
    let mut buffer = MaintenanceBuffer::default();
    let s = by(Acknowledgement::Passive);
    assert_eq!(send(&mut buffer, ms(0), item(1), &s), None);
    assert_eq!(buffer.overheard(&packet(1)), None, "no hop farther");
    let mut forwarded = packet(1);
    forwarded.source_route_mut().unwrap().segments_left = 1;
    assert_eq!(buffer.overheard(&forwarded), Some(a(2)));
    assert!(buffer.is_empty());
    // Nobody can overhear the destination, so the last hop is asked.
    let mut last = item(2);
    last.packet.ip.destination = a(2);
    assert!(send(&mut buffer, ms(300), last, &s).is_some());
}

#[test]
fn actions_of_one_time_come_in_the_order_of_their_call() {
    let mut agenda = Agenda::default();
    for (at, n) in [(5, 1), (3, 2), (5, 3)] {
        agenda.add(ms(at), Delayed::HeldRequest { from: a(n) });
    }
    let mut due = |now| match agenda.due(ms(now)) {
        Some(Delayed::HeldRequest { from }) => Some(from),
        _ => None,
    };
    let all: Vec<_> = [2, 3, 4, 5, 5, 5].map(&mut due).into();
    assert_eq!(all, [None, Some(a(2)), None, Some(a(1)), Some(a(3)), None]);
}

#[test]
fn replies_that_are_no_shorter_than_a_route_in_use_are_cancelled() {
    let mut agenda = Agenda::default();
    for hops in [2, 3, 4] {
        let reply = Delayed::CachedReply {
            item: item(1),
            initiator: a(1),
            target: a(9),
            hops,
        };
        agenda.add(ms(hops as u64), reply);
    }
    assert_eq!(agenda.cancel_replies(a(1), a(8), 1), 0);
    assert_eq!(agenda.cancel_replies(a(1), a(9), 3), 2);
    assert_eq!(agenda.next_deadline(), Some(ms(2)));
}

#[test]
fn the_send_buffer_does_what_the_layer_says_of_two_packets() {
    for (meeting, left) in [
        (Meeting::Beside, vec![1, 2, 3, 9]),
        (Meeting::Renews, vec![1, 9, 3]),
        (Meeting::Removes, vec![1, 3, 9]),
    ] {
        let mut buffer = SendBuffer::default();
        let push = |id: u16| {
            let waiting = Waiting::new(ms(0), packet(id));
            let meets = |new: &Packet, old: &Packet| {
                let both = (new.ip.identification, old.ip.identification);
                if both == (9, 2) {
                    meeting
                } else {
                    Meeting::Beside
                }
            };
            assert!(buffer.push(waiting, 10, meets).is_none());
        };
        [1, 2, 3, 9].into_iter().for_each(push);
        let ids = buffer.take_for(a(4)).into_iter();
        let ids: Vec<_> = ids.map(|w| w.packet.ip.identification).collect();
        assert_eq!(ids, left, "{meeting:?}");
    }
}

fn error(source: u8) -> RouteError {
    RouteError {
        kind: ErrorKind::NodeUnreachable(a(7)),
        salvage: 0,
        source: a(source),
        destination: a(1),
        extension: vec![1, 2, 3],
    }
}

#[test]
fn errors_are_news_for_neighbours_until_all_have_heard_them() {
    let mut news = News::default();
    for source in [1, 2, 3, 3, 4] {
        news.add(ms(0), &error(source));
    }
    let longest = Duration::from_millis(10);
    let told = news.spread(ms(5), longest, false);
    assert!(told.iter().all(|e| e.extension.is_empty()));
    let sources: Vec<_> = told.iter().map(|e| e.source).collect();
    assert_eq!(sources, [a(2), a(3), a(4)]);
    assert_eq!(news.spread(ms(9), longest, true), told);
    assert!(news.spread(ms(9), longest, true).is_empty());
    news.add(ms(9), &error(1));
    assert!(news.spread(ms(19), longest, true).is_empty());
}

#[test]
fn a_neighbour_fades_once_when_its_mean_falls_below_the_threshold() {
    let mut signals = Signals::default();
    let heard = [-60, -80, -80, -80, -80].map(|dbm| signals.hear(ms(0), a(2), dbm, -70));
    assert_eq!(heard.map(|h| h.mean_dbm), [-60, -65, -68, -71, -73]);
    assert_eq!(heard.map(|h| h.fades), [false, false, false, true, false]);
}

/// Says its name of everything, and takes what it may.
struct Says(&'static str, bool);

impl Layer for Says {
    type Event = String;

    fn takes(&mut self, _: Instant, _: hoplab_dsr_core::layer::Place, _: &Packet) -> bool {
        self.1
    }

    fn fate(&mut self, _: &Packet, _: Fate) -> Vec<Report<String>> {
        vec![Report::Event(self.0.into())]
    }

    fn meets(&self, _: &Packet, _: &Packet) -> Meeting {
        if self.1 {
            Meeting::Removes
        } else {
            Meeting::Renews
        }
    }

    fn warning(&mut self, _: &[Stopped]) -> Warning<String> {
        Warning {
            extension: self.0.bytes().collect(),
            packets: vec![],
            told: vec![self.0.into()],
        }
    }
}

#[test]
fn two_layers_both_speak_and_one_takes() {
    let mut layers = (Says("a", false), Says("b", true));
    let place = hoplab_dsr_core::layer::Place::Leaving;
    assert!(layers.takes(ms(0), place, &packet(1)));
    let said = layers.fate(&packet(1), Fate::Held);
    let (a, b) = (
        Either::First("a".to_string()),
        Either::Second("b".to_string()),
    );
    assert_eq!(said, [Report::Event(a.clone()), Report::Event(b.clone())]);
    assert_eq!(layers.meets(&packet(1), &packet(2)), Meeting::Removes);
    let warning = layers.warning(&[]);
    assert_eq!(
        (warning.extension, warning.told),
        (b"ab".to_vec(), vec![a, b])
    );
}
