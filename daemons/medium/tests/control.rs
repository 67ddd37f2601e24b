// SPDX-License-Identifier: Apache-2.0
//! The control socket, with clients that keep to it and clients that do not.

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use hoplab_channel::{Change, Part};
use hoplab_medium::control::{change, Changes, Control, Refusal};
use hoplab_medium_core::{Dbm, LinkId, RadioId, Stream};

fn names() -> Vec<String> {
    vec!["a".into(), "b".into()]
}

fn asked(text: &str) -> Result<Change, Refusal> {
    change(text.as_bytes(), &names())
}

#[test]
fn requests_are_changes() {
    assert_eq!(
        asked(r#"{"do": "move", "station": "b", "x_m": 1.5, "y_m": -2}"#).ok(),
        Some(Change::Move {
            radio: RadioId::new(1),
            x_m: 1.5,
            y_m: -2.0
        })
    );
    assert_eq!(
        asked(r#"{"do": "down", "station": "a"}"#).ok(),
        Some(Change::Power {
            radio: RadioId::new(0),
            up: false
        })
    );
    assert_eq!(
        asked(r#"{"do": "loss", "src": "a", "dst": "b", "rate": 0.25}"#).ok(),
        Some(Change::Lose {
            link: LinkId {
                from: RadioId::new(0),
                to: RadioId::new(1)
            },
            rate: 0.25
        })
    );
    assert_eq!(
        asked(r#"{"do": "transmit", "station": "b", "dbm": -3.5}"#).ok(),
        Some(Change::Fit {
            radio: RadioId::new(1),
            part: Part::Power(Dbm(-3.5))
        })
    );
}

/// `tests/unit/test_requests.py` writes the same from the Python package's declarations.
#[test]
fn requests_are_those_that_the_lab_declares() {
    let declared: Vec<serde_json::Value> =
        serde_json::from_str(include_str!("requests.json")).expect("a list");
    for request in declared {
        let text = request.to_string();
        assert!(asked(&text).is_ok(), "{text}");
    }
}

#[test]
fn what_is_no_request_is_told_why() {
    let refused = [
        (
            r#"{"do": "move", "station": "c", "x_m": 0, "y_m": 0}"#,
            "\"c\": no station",
        ),
        (
            r#"{"do": "move", "station": "a", "x_m": 1e7, "y_m": 0}"#,
            "x_m: 10000000 is not in",
        ),
        (
            r#"{"do": "move", "station": "a", "x_m": 1e999, "y_m": 0}"#,
            "out of range",
        ),
        (
            r#"{"do": "move", "station": "a", "x_m": null, "y_m": 0}"#,
            "invalid type",
        ),
        (
            r#"{"do": "loss", "src": "a", "dst": "b", "rate": -0.1}"#,
            "rate: -0.1 is not in",
        ),
        (
            r#"{"do": "transmit", "station": "a", "dbm": 101}"#,
            "dbm: 101 is not in -200 to 100",
        ),
        (r#"{"do": "down", "station": 1}"#, "invalid type"),
        (r#"{"do": "up", "station": "a", "x": 1}"#, "unknown field"),
        (r#"{"do": "exit"}"#, "unknown variant"),
        ("", "EOF"),
        ("[[[[[[[[[[", "invalid"),
    ];
    for (text, reason) in refused {
        let told = asked(text).expect_err(text).to_string();
        assert!(told.contains(reason), "{text}: {told}");
    }
    let long = format!("{}{}", r#"{"do": "exit"}"#, " ".repeat(600));
    assert!(matches!(asked(&long), Err(Refusal::Long)));
}

#[test]
fn bytes_of_any_kind_are_refused_or_within_bounds() {
    let mut random = Stream::new(1, "control");
    let seed = r#"{"do": "move", "station": "b", "x_m": 1.5, "y_m": -2}"#.as_bytes();
    for _ in 0..50_000 {
        let mut bytes = seed.to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() as u32) as usize;
            bytes[at] = random.below(256) as u8;
        }
        if let Ok(Change::Move { radio, x_m, y_m }) = change(&bytes, &names()) {
            assert!(radio.index() < 2 && x_m.abs() <= 1e6 && y_m.abs() <= 1e6);
        }
    }
}

fn opened(name: &str) -> (Control, PathBuf) {
    let path = std::env::temp_dir().join(format!("hoplab-{}-{name}", std::process::id()));
    (Control::open(&path, names()).expect("a socket"), path)
}

#[test]
fn every_request_is_answered_and_a_flood_taken_in_parts() {
    let (mut control, path) = opened("flood");
    let own = path.with_extension("client");
    let client = UnixDatagram::bind(&own).expect("a client");
    let good = br#"{"do": "down", "station": "a"}"#;
    client.send_to(good, &path).expect("sent");
    client.send_to(b"{}", &path).expect("sent");
    assert_eq!(control.receive().changes.len(), 1);
    let mut answer = [0; 600];
    let length = client.recv(&mut answer).expect("an answer");
    assert_eq!(&answer[..length], b"ok");
    assert!(client.recv(&mut answer).expect("an answer") > 2);

    // Somebody who sends on and on, and never takes an answer.
    client.set_nonblocking(true).expect("non-blocking");
    let mut sent = 0;
    for _ in 0..10_000 {
        match client.send_to(good, &path) {
            Ok(_) => sent += 1,
            Err(_) => {
                let taken = control.receive().changes.len();
                assert!(taken <= 32, "{taken} at once");
            }
        }
    }
    assert!(sent > 100);
    drop(control);
    assert!(!path.exists());
    let _ = std::fs::remove_file(own);
}
