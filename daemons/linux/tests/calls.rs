// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What needs no privilege, on sockets of the test's own.

use hoplab_base::Duration;
use hoplab_linux::netlink::{Inbox, Netlink};
use hoplab_linux::{kernel, packet, sleep_until, udp, wait, Interest};
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixStream};

const SECOND: Duration = Duration::from_secs(1);
/// A port of the kernel's choice.
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

#[test]
fn a_wait_ends_with_input_and_tells_what_was_left() {
    let (near, mut far) = UnixStream::pair().unwrap();
    let mut interests = [Interest::input(near.as_fd()), Interest::none()];
    let left = wait(&mut interests, Duration::from_millis(5));
    assert_eq!(left, Duration::ZERO);
    assert!(!interests[0].found().any());
    far.write_all(b"x").unwrap();
    let left = wait(&mut interests, SECOND);
    assert!(left > Duration::ZERO && left <= SECOND);
    assert!(interests[0].found().input && !interests[0].found().output);
    assert!(!interests[1].found().any());
}

#[test]
fn a_wait_for_output_ends_when_there_is_room() {
    let (near, _far) = UnixStream::pair().unwrap();
    let mut interests = [Interest::output(near.as_fd())];
    assert!(wait(&mut interests, SECOND) > Duration::ZERO);
    assert!(interests[0].found().output);
}

#[test]
fn the_clock_advances() {
    let before = kernel::now();
    std::thread::sleep(std::time::Duration::from_millis(2));
    assert!(kernel::now().since(before) >= Duration::from_millis(2));
}

/// The kernel takes what fits its buffer. The caller learns how many, and why no more.
#[test]
fn frames_that_were_not_taken_are_told() {
    let (near, far) = UnixDatagram::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    far.set_nonblocking(true).unwrap();
    let near = OwnedFd::from(near);
    let frames: Vec<[u8; 2]> = (0..1000u16).map(u16::to_be_bytes).collect();
    let mut arrived = Vec::new();
    let mut sent = 0;
    let mut refusals = 0;
    while sent < frames.len() {
        let (taken, error) = packet::send(&near, &frames[sent..]);
        sent += taken;
        if let Some(error) = error {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            refusals += 1;
        }
        let mut frame = [0; 2];
        while far.recv(&mut frame).is_ok() {
            arrived.push(frame);
        }
    }
    assert!(refusals > 0, "the buffer never filled");
    assert_eq!(arrived, frames);
}

#[test]
fn a_failure_is_told_at_once() {
    let (near, far) = UnixDatagram::pair().unwrap();
    drop(far);
    let (taken, error) = packet::send(&OwnedFd::from(near), &[[0u8; 2]; 3]);
    assert_eq!(taken, 0);
    let kind = error.expect("a reason").kind();
    assert!(matches!(
        kind,
        ErrorKind::ConnectionRefused | ErrorKind::NotConnected
    ));
}

/// The kernel's generic netlink controller answers anybody.
#[test]
fn netlink_brings_an_answer() {
    let netlink = Netlink::open().unwrap();
    // Length 20, type nlctrl (16), request; sequence 7; CTRL_CMD_GETFAMILY without a name.
    let mut request = vec![20, 0, 0, 0, 16, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0];
    request.extend([3, 1, 0, 0]);
    netlink.send(&request).unwrap();
    let mut inbox = Inbox::new();
    netlink.receive(&mut inbox, true).unwrap();
    let answer = inbox.datagrams().next().flatten().expect("an answer");
    assert_eq!(answer[8], 7, "the request's sequence number");
    netlink.receive(&mut inbox, false).unwrap();
    assert!(inbox.is_empty());
}

#[test]
fn a_datagram_comes_with_its_length_and_its_date() {
    let receiver = udp::Receiver::open(LOOPBACK, SECOND).unwrap();
    let sender = udp::Sender::open(
        LOOPBACK,
        receiver.address().unwrap(),
        Some(0xb8),
        Some(8192),
    );
    let before = kernel::real_time();
    sender.unwrap().send(&[7; 1000]);
    let mut room = [0; 12];
    let came = receiver.receive(&mut room).unwrap().unwrap();
    assert_eq!((came.octets, room), (1000, [7; 12]));
    assert!(before <= came.at && came.at <= kernel::real_time());
}

#[test]
fn a_receiver_waits_no_longer_than_its_patience() {
    let receiver = udp::Receiver::open(LOOPBACK, Duration::from_millis(5)).unwrap();
    let before = kernel::now();
    assert_eq!(receiver.receive(&mut [0; 12]).unwrap(), None);
    assert!(kernel::now().since(before) >= Duration::from_millis(5));
}

#[test]
fn a_sleep_ends_when_it_is_due_and_not_before() {
    let due = kernel::now() + Duration::from_millis(2);
    sleep_until(due);
    assert!(kernel::now() >= due);
    sleep_until(due);
}
