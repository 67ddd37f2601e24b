// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a writer leaves in its file.

use crate::common::Folder;
use hoplab_records::{frames, routing, Integer, Table, Writer};
use std::path::PathBuf;

fn frame() -> frames::Row<'static> {
    frames::Row {
        t_s: 0.1,
        src: "n0",
        dst: None,
        kind: "data",
        bytes: Integer(1536),
        rate_mbps: 5.5,
        attempt: Integer(1),
        fate: "nobody",
        signal_dbm: None,
        until_s: 0.2,
        protocol: Some("udp"),
        packet_src: None,
        packet_dst: None,
        packet_id: None,
        ttl: None,
        src_port: None,
        dst_port: None,
        seq: None,
        ack: None,
        payload_bytes: None,
        category: None,
        mpdu: None,
        mpdus: None,
        link: None,
    }
}

#[test]
fn a_row_is_a_line_with_every_column_in_order() {
    let folder = Folder::new("row");
    let mut writer = Writer::<frames::Table>::create_in(&folder.0, None).unwrap();
    writer.write(&frame()).unwrap();
    writer.flush().unwrap();
    let text = std::fs::read_to_string(folder.0.join("frames.jsonl")).unwrap();
    let expected = "{\"t_s\":0.1,\"src\":\"n0\",\"dst\":null,\"kind\":\"data\",\"bytes\":1536,\
                    \"rate_mbps\":5.5,\"attempt\":1,\"fate\":\"nobody\",\"signal_dbm\":null,\
                    \"until_s\":0.2,\"protocol\":\"udp\",\"packet_src\":null,\"packet_dst\":null,\
                    \"packet_id\":null,\"ttl\":null,\"src_port\":null,\"dst_port\":null,\
                    \"seq\":null,\"ack\":null,\"payload_bytes\":null,\
                    \"category\":null,\"mpdu\":null,\"mpdus\":null,\"link\":null}\n";
    assert_eq!(text, expected);
}

#[test]
fn a_value_outside_its_set_is_refused_and_named() {
    let folder = Folder::new("values");
    let mut writer = Writer::<frames::Table>::create_in(&folder.0, None).unwrap();
    let wrong = frames::Row {
        fate: "colided",
        ..frame()
    };
    let error = writer.write(&wrong).unwrap_err().to_string();
    assert!(
        error.contains("frames") && error.contains("fate"),
        "{error}"
    );
    assert!(error.contains("\"colided\", expected delivered"), "{error}");
}

#[test]
fn not_a_number_is_refused_instead_of_becoming_null() {
    let folder = Folder::new("nan");
    let mut writer = Writer::<frames::Table>::create_in(&folder.0, None).unwrap();
    for signal_dbm in [f64::NAN, f64::NEG_INFINITY] {
        let wrong = frames::Row {
            signal_dbm: Some(signal_dbm),
            ..frame()
        };
        let error = writer.write(&wrong).unwrap_err().to_string();
        assert!(error.contains("signal_dbm"), "{error}");
    }
}

#[test]
fn sources_share_a_table_and_appending_keeps_what_is_there() {
    let folder = Folder::new("append");
    let path = folder.0.join("routing-n0.jsonl");
    let row = |counter| routing::Row {
        node: "n0",
        counter,
        value: u64::MAX.into(),
    };
    let mut first = Writer::<routing::Table>::create_in(&folder.0, Some("n0")).unwrap();
    first.write(&row("a")).unwrap();
    first.flush().unwrap();
    let mut second = Writer::<routing::Table>::append(&path).unwrap();
    second.write(&row("b")).unwrap();
    second.flush().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 2);
    let largest = format!("\"value\":{}", i64::MAX);
    assert!(text.lines().all(|line| line.contains(&largest)), "{text}");
}

#[test]
fn the_schema_says_which_tables_are_timed() {
    let timed = [frames::Table::TIMED, routing::Table::TIMED];
    assert_eq!(timed, [true, false]);
    assert_eq!(frames::Table::NAME, "frames");
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let missing = PathBuf::from("/nonexistent/folder");
    let error = Writer::<frames::Table>::create_in(&missing, None)
        .err()
        .expect("no such folder")
        .to_string();
    assert!(
        error.contains("/nonexistent/folder/frames.jsonl"),
        "{error}"
    );
}
