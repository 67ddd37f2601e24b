// SPDX-License-Identifier: Apache-2.0 OR MIT

use core::ops::{Deref, DerefMut};

use hoplab_base::{Duration, Instant, Stream};

use super::super::{CarrierSense, Contention, Due, Setup, Wake};
use super::{setup, us};
use crate::timing::Timing;

const CW_MIN: u32 = 31;

/// An access function of DCF, and what its radio knows of the medium.
struct Access {
    function: super::super::Access,
    sense: CarrierSense,
}

impl Access {
    fn begin(&mut self, now: Instant, timing: &Timing, quiet: bool, at_once: bool) {
        self.function
            .begin(now, &self.sense, timing, quiet, at_once);
    }

    fn count(&mut self, now: Instant, timing: &Timing, drawn_wait: Duration) -> Option<Wake> {
        self.function.count(now, &self.sense, timing, drawn_wait)
    }
}

impl Deref for Access {
    type Target = super::super::Access;

    fn deref(&self) -> &Self::Target {
        &self.function
    }
}

impl DerefMut for Access {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.function
    }
}

fn of(seed: u64, counts_at_once: bool) -> Access {
    let contention = Contention {
        cw_min: CW_MIN,
        cw_max: 1023,
        ifs: setup().timing.difs,
        counts_at_once,
    };
    Access {
        function: super::super::Access::new(0, Stream::new(seed, "test"), contention),
        sense: CarrierSense::default(),
    }
}

fn access(seed: u64) -> Access {
    of(seed, false)
}

/// An access that waits for this backoff from time 0 on, idle; the time at which it will send.
fn backing_off(seed: u64, setup: &Setup) -> (Access, Instant) {
    let mut access = access(seed);
    access.begin(us(0), &setup.timing, false, true);
    let wake = access.count(us(0), &setup.timing, Duration::ZERO);
    let at = wake.expect("an event comes for a new backoff").at;
    (access, at)
}

#[test]
fn an_idle_medium_is_used_at_once_after_difs() {
    let (setup, mut access) = (setup(), access(1));
    access.sense.idle_again(us(0));
    let now = Instant::ZERO + setup.timing.difs;
    access.begin(now, &setup.timing, true, true);
    assert!(!access.needs_backoff());
    let wake = access.count(now, &setup.timing, Duration::ZERO).unwrap();
    assert_eq!(wake.at, now);
    assert_eq!(access.come(wake.at, wake.generation), Due::Now);
    assert_eq!(access.at(), None);
}

#[test]
fn a_medium_idle_for_less_asks_for_a_backoff() {
    let setup = setup();
    let difs = Instant::ZERO + setup.timing.difs;
    let early = us(difs.since(us(0)).as_nanos() / 1000 - 1);
    let begun = |now, quiet, at_once, nav| {
        let mut access = access(1);
        access.sense.set_nav(nav);
        access.begin(now, &setup.timing, quiet, at_once);
        access.needs_backoff()
    };
    assert!(!begun(difs, true, true, us(0)));
    assert!(begun(early, true, true, us(0)));
    assert!(begun(difs, false, true, us(0)));
    assert!(begun(difs, true, false, us(0)));
    assert!(begun(difs, true, true, difs + setup.timing.slot));
}

#[test]
fn slots_count_from_difs_after_the_medium_is_idle() {
    let setup = setup();
    for seed in 0..100 {
        let (access, at) = backing_off(seed, &setup);
        assert!(access.slots() <= u64::from(CW_MIN));
        let counted = access.slots() * setup.timing.slot;
        assert_eq!(at, us(0) + setup.timing.difs + counted);
    }
}

/// 10.3.2.3.7.
#[test]
fn eifs_comes_after_a_frame_with_errors() {
    let setup = setup();
    let mut access = access(1);
    access.begin(us(0), &setup.timing, false, true);
    access.sense.last_frame_had_errors(true);
    let wake = access.count(us(0), &setup.timing, Duration::ZERO).unwrap();
    let counted = access.slots() * setup.timing.slot;
    assert_eq!(wake.at, us(0) + setup.timing.eifs + counted);
}

#[test]
fn the_nav_only_grows_and_holds_the_count_back() {
    let setup = setup();
    let mut access = access(1);
    access.sense.set_nav(us(900));
    access.sense.set_nav(us(500));
    assert!(access.sense.nav_counts(us(899)) && !access.sense.nav_counts(us(900)));
    access.begin(us(0), &setup.timing, true, true);
    let wake = access.count(us(0), &setup.timing, Duration::ZERO).unwrap();
    assert_eq!(
        wake.at,
        us(900) + setup.timing.difs + access.slots() * setup.timing.slot
    );
}

#[test]
fn slots_that_have_not_elapsed_are_kept_while_the_medium_is_busy() {
    let setup = setup();
    let slot = setup.timing.slot;
    let (mut access, at) = (0..)
        .map(|seed| backing_off(seed, &setup))
        .find(|(access, _)| access.slots() >= 10)
        .unwrap();
    let whole = access.slots();
    // Into the fourth slot: three have elapsed.
    let busy = us(0) + setup.timing.difs + 3 * slot + Duration::from_micros(1);
    access.freeze(busy, Duration::ZERO, slot);
    assert_eq!((access.slots(), access.at()), (whole - 3, None));
    let idle = us(5000);
    access.sense.idle_again(idle);
    let again = access.count(idle, &setup.timing, Duration::ZERO);
    // The first event is still to come, and finds out that it must come again.
    assert_eq!(again, None);
    let Due::Later(Some(wake)) = access.come(at, 1) else {
        panic!("the access was put off");
    };
    assert_eq!(wake.at, idle + setup.timing.difs + (whole - 3) * slot);
    assert_eq!(access.come(wake.at, wake.generation), Due::Now);
}

#[test]
fn a_signal_of_the_same_instant_is_not_sensed() {
    let setup = setup();
    let (mut access, at) = backing_off(1, &setup);
    access.freeze(at, Duration::ZERO, setup.timing.slot);
    assert_eq!(access.at(), Some(at));
}

#[test]
fn who_defers_without_a_backoff_draws_one() {
    let (setup, mut access) = (setup(), access(1));
    let now = us(0) + setup.timing.difs;
    access.begin(now, &setup.timing, true, true);
    access.count(us(0), &setup.timing, Duration::ZERO);
    access.freeze(us(10), Duration::ZERO, setup.timing.slot);
    assert!(access.needs_backoff());
}

/// 10.3.3: 31, 63, … 1023.
#[test]
fn the_window_doubles_with_each_retry_up_to_its_bound() {
    let most_after = |retries: u32| {
        let drawn = (0..3000).map(|seed| {
            let mut access = access(seed);
            (0..retries).for_each(|_| access.retry(us(0)));
            access.slots()
        });
        drawn.max().unwrap()
    };
    for (retries, window) in [(1, 63), (2, 127), (5, 1023), (9, 1023)] {
        let most = most_after(retries);
        // The chance that 3000 draws miss the upper sixteenth is 0.9375^3000.
        assert!(
            most <= window && most > window * 15 / 16,
            "{retries}: {most}"
        );
    }
    let mut access = access(1);
    access.retry(us(0));
    access.finish(us(0));
    assert!(access.slots() <= 31 && access.needs_backoff());
}

#[test]
fn what_was_forgotten_does_not_come() {
    let setup = setup();
    let (mut access, at) = backing_off(1, &setup);
    access.forget();
    assert_eq!(access.come(at, 1), Due::Later(None));
}

/// 10.23.2.4: a category counts at the end of its interframe space already. So it does not lose a
/// slot in which another begins to send.
#[test]
fn a_category_counts_the_slot_in_which_the_medium_becomes_busy() {
    let setup = setup();
    let slot = setup.timing.slot;
    let busy = us(0) + setup.timing.difs + 3 * slot;
    let left = |counts_at_once| {
        let seeds = (0..).map(|seed| {
            let mut access = of(seed, counts_at_once);
            access.begin(us(0), &setup.timing, false, true);
            access.count(us(0), &setup.timing, Duration::ZERO);
            access
        });
        let mut access = seeds
            .into_iter()
            .find(|access| access.slots() >= 10)
            .unwrap();
        let before = access.slots();
        access.freeze(busy, Duration::ZERO, slot);
        before - access.slots()
    };
    assert_eq!((left(false), left(true)), (3, 4));
}
