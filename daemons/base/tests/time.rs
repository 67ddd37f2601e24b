// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Times saturate instead of wrapping, and round as their users expect.

use hoplab_base::{Duration, Instant};

#[test]
fn never_stays_never() {
    assert_eq!(Instant::MAX + Duration::from_secs(1), Instant::MAX);
    assert_eq!(Duration::MAX + Duration(1), Duration::MAX);
    assert_eq!(Duration::MAX * 2, Duration::MAX);
    assert_eq!(Duration::from_secs(u64::MAX), Duration::MAX);
}

#[test]
fn nothing_is_before_the_origin() {
    assert_eq!(Instant(5) - Duration(6), Instant::ZERO);
    assert_eq!(Duration(5) - Duration(6), Duration::ZERO);
    assert_eq!(Instant(5).since(Instant(6)), Duration::ZERO);
    assert_eq!(Instant(6).since(Instant(5)), Duration(1));
}

#[test]
fn seconds_round_to_the_nearest_nanosecond() {
    assert_eq!(Duration::from_secs_f64(0.1), Duration::from_millis(100));
    assert_eq!(Duration::from_secs_f64(1e-9 * 0.6), Duration(1));
    assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
    assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
}

#[test]
fn records_count_from_their_epoch_either_way() {
    let epoch = Instant(2_000_000_000);
    assert_eq!(Instant(2_500_000_000).seconds_from(epoch), 0.5);
    assert_eq!(Instant(1_500_000_000).seconds_from(epoch), -0.5);
}

#[test]
fn divisions() {
    let slot = Duration::from_micros(20);
    assert_eq!(Duration::from_micros(50) / slot, 2);
    assert_eq!(Duration::from_micros(50).div_ceil(slot), 3);
    assert_eq!(Duration::from_micros(50) % slot, Duration::from_micros(10));
    assert_eq!(Duration(1_001).as_micros_ceil(), 2);
    let all: Duration = [slot, slot].into_iter().sum();
    assert_eq!(all, 2 * slot);
}
