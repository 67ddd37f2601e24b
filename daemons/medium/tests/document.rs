// SPDX-License-Identifier: Apache-2.0
//! A document as `hoplab` writes it, and others (tests/unit/test_medium_document.py has the values).

use hoplab_channel::config::Config;
use hoplab_document::parse;
use hoplab_medium_core::{Fading, LossModel, Position, Rate, Standard, Takes};
use hoplab_wire::Mac;

const WHOLE: &str = include_str!("document.json");

#[test]
fn what_hoplab_writes_is_read() {
    let config: Config = parse(WHOLE).expect("a document");
    let params = &config.params;
    assert_eq!(config.epoch.as_nanos(), 1000);
    assert_eq!(
        params.phy.standard,
        Standard::Ofdm {
            signal_extension: true
        }
    );
    assert_eq!(params.phy.basic_rate, Rate::OFDM_6);
    assert_eq!(params.fading, Fading::Nakagami { m: 1.0 });
    assert_eq!(config.macs()[1], Mac([2, 0, 0, 0, 0, 2]));
    let way = &config.stations[1].waypoints;
    assert_eq!(way[0].position, Position::new(100.1, 0.0));
    assert!(config.stations[0].power[0].at > config.epoch);
    assert_eq!(config.losses[0].takes, Takes::Packets);
    assert!(matches!(config.losses[0].model, LossModel::Burst(_)));
    assert!(matches!(config.losses[2].model, LossModel::List { .. }));
}

#[test]
fn other_documents_are_refused() {
    let refused = |from: &str, to: &str| {
        assert_eq!(WHOLE.matches(from).count(), 1, "{from}");
        let error = parse::<Config>(&WHOLE.replace(from, to)).expect_err(to);
        error.to_string()
    };
    let unknown = refused("\"overhear\":", "\"overhears\":");
    assert!(unknown.contains("overhears: unknown field"), "{unknown}");
    let rate = refused("\"plcp_rate_mbps\": 6.0", "\"plcp_rate_mbps\": 6.5");
    assert!(rate.contains("expected a rate before HT"), "{rate}");
    let burst = refused("\"on_ns\": 100000000", "\"on_ns\": 0");
    assert!(burst.contains("expected 0 < on_ns"), "{burst}");
    let word = refused("\"error-rate\"", "\"error\"");
    assert!(word.contains("params.reception"), "{word}");
}
