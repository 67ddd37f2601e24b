// SPDX-License-Identifier: Apache-2.0 OR MIT

use alloc::vec;
use alloc::vec::Vec;

use hoplab_base::Duration;

use super::super::{Effect, Effects, Host, Limits, Queued, Received, Timer};
use super::{arrived, frame, us};
use crate::{Class, Cost, Frame, FrameId, Nic, Params, RadioId};

const A_MILLISECOND: Cost = Cost {
    frame_us: 1000.0,
    mbps: 0.0,
};

fn limits(nic: Nic) -> Limits {
    let params = Params {
        queue_packets: 2,
        routing_priority: true,
        ..Params::default()
    };
    Limits::new(&params, nic)
}

fn routing(id: FrameId) -> Frame {
    Frame {
        routing: true,
        ..frame(id)
    }
}

/// What goes out, in order.
fn sent(host: &mut Host, limits: &Limits) -> Vec<FrameId> {
    core::iter::from_fn(|| host.next(limits).map(|frame| frame.id)).collect()
}

#[test]
fn a_full_queue_refuses_and_routing_pushes_the_last_out() {
    let (mut host, limits) = (Host::default(), limits(Nic::default()));
    assert_eq!(host.queue(frame(1), &limits), Queued::Waits);
    assert_eq!(host.queue(frame(2), &limits), Queued::Waits);
    assert_eq!(host.queue(frame(3), &limits), Queued::Refused);
    assert_eq!(host.queue(routing(4), &limits), Queued::PushedOut(2));
    assert_eq!(host.waiting(), 2);
    assert_eq!(sent(&mut host, &limits), [4, 1]);
}

#[test]
fn routing_does_not_overtake_what_the_card_holds() {
    let nic = Nic {
        tx_ring: 2,
        ..Nic::default()
    };
    let (mut host, limits) = (Host::default(), limits(nic));
    host.queue(frame(1), &limits);
    host.queue(frame(2), &limits);
    host.queue(routing(3), &limits);
    assert_eq!(sent(&mut host, &limits), [1, 3, 2]);
}

#[test]
fn a_scheduled_beacon_overtakes_all_and_the_stale_one_makes_room() {
    let nic = Nic {
        tx_ring: 2,
        ..Nic::default()
    };
    let (mut host, limits) = (Host::default(), limits(nic));
    let beacon = |id| Frame {
        class: Class::ScheduledBeacon,
        ..frame(id)
    };
    host.queue(frame(1), &limits);
    host.queue(frame(2), &limits);
    host.queue(frame(3), &limits);
    assert_eq!(host.queue(frame(4), &limits), Queued::Refused);
    assert_eq!(host.queue(beacon(5), &limits), Queued::Waits);
    assert_eq!(host.queue(beacon(6), &limits), Queued::PushedOut(5));
    assert_eq!(host.waiting(), 4);
    assert_eq!(sent(&mut host, &limits), [6, 1, 2, 3]);
}

#[test]
fn a_host_makes_one_frame_ready_at_a_time() {
    let nic = Nic {
        tx: A_MILLISECOND,
        ..Nic::default()
    };
    let (mut host, limits) = (Host::default(), limits(nic));
    let wake = host.prepare(frame(1), us(0), &limits).unwrap();
    assert_eq!((wake.at, wake.timer), (us(1000), Timer::Prepared));
    assert!(host.prepare(frame(2), us(10), &limits).is_none());
    let first = host.prepared(wake.generation).unwrap();
    assert_eq!(first.id, 1);
    let next = host.prepare_next(us(1000), &limits).unwrap();
    assert_eq!(next.at, us(2000));
}

#[test]
fn a_frame_is_copied_into_a_free_buffer_of_the_card() {
    let nic = Nic {
        load: A_MILLISECOND,
        tx_ring: 2,
        ..Nic::default()
    };
    let (mut host, limits) = (Host::default(), limits(nic));
    host.queue(frame(1), &limits);
    host.queue(frame(2), &limits);
    assert!(host.next(&limits).is_none());
    let wake = host.load(false, us(0), &limits).unwrap();
    assert_eq!((wake.at, wake.timer), (us(1000), Timer::Loaded));
    assert!(host.load(false, us(0), &limits).is_none());
    host.loaded(wake.generation);
    assert_eq!(host.next(&limits).map(|frame| frame.id), Some(1));
    // One is in service, the other buffer is free.
    assert!(host.load(true, us(1000), &limits).is_some());
}

#[test]
fn received_frames_wait_for_their_host_one_after_the_other() {
    let nic = Nic {
        rx: A_MILLISECOND,
        rx_buffer_packets: 2,
        ..Nic::default()
    };
    let (mut host, limits) = (Host::default(), limits(nic));
    let Received::Waits(Some(wake)) = host.receive(arrived(0, 1), us(0), &limits) else {
        panic!("an idle host begins to fetch");
    };
    assert_eq!(wake.at, us(1000));
    let second = host.receive(arrived(0, 2), us(0), &limits);
    assert_eq!(second, Received::Waits(None));
    let third = host.receive(arrived(0, 3), us(0), &limits);
    assert_eq!(third, Received::Lost);
    let mut effects: Effects = vec![];
    host.served(wake.generation, us(1000), &limits, &mut effects);
    assert_eq!(
        effects[..2],
        [Effect::Deliver(arrived(0, 1)), Effect::Release(1)]
    );
    assert!(matches!(&effects[2..], [Effect::Wake(next)] if next.at == us(2000)));
}

#[test]
fn what_costs_the_host_nothing_is_taken_at_once() {
    let (mut host, limits) = (Host::default(), limits(Nic::default()));
    let taken = host.receive(arrived(0, 1), us(0), &limits);
    assert_eq!(taken, Received::Taken);
}

#[test]
fn a_radio_that_goes_off_gives_all_frames_up_in_the_order_of_sending() {
    let nic = Nic {
        tx: A_MILLISECOND,
        rx: A_MILLISECOND,
        tx_ring: 2,
        ..Nic::default()
    };
    let (mut host, limits) = (Host::default(), limits(nic));
    for one in [frame(1), frame(2), routing(3)] {
        host.queue(one, &limits);
    }
    let preparing = host.prepare(frame(4), us(0), &limits).unwrap();
    host.receive(arrived(0, 9), us(0), &limits);
    let mut effects: Effects = vec![];
    host.abandon_received(&mut effects);
    assert_eq!(effects, [Effect::Release(9)]);
    let mut lost = Vec::new();
    host.abandon_waiting(|frame| lost.push(frame));
    assert_eq!(lost, [1, 3, 2, 4]);
    assert_eq!(host.waiting(), 0);
    assert!(host.prepared(preparing.generation).is_none());
}

#[test]
fn an_acknowledged_frame_is_its_senders() {
    let mut host = Host::default();
    host.acknowledge(vec![arrived(1, 5)]);
    assert_eq!(host.acknowledged_from(RadioId::new(2)), []);
    assert_eq!(host.acknowledged_from(RadioId::new(1)), [arrived(1, 5)]);
    assert_eq!(host.acknowledged(), []);
}

#[test]
fn a_long_preparation_tells_when_the_queue_will_refuse() {
    let nic = Nic {
        tx: A_MILLISECOND,
        ..Nic::default()
    };
    let (mut host, limits) = (Host::default(), limits(nic));
    for id in 0..2 {
        host.prepare(frame(id), us(0), &limits);
    }
    assert_eq!(host.refuses_after(&limits), None);
    host.prepare(frame(2), us(0), &limits);
    // Room for two: the third finds none, two preparations after the first.
    let after = Duration::from_micros(2000);
    assert_eq!(host.refuses_after(&limits), Some(after));
}
