// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Multipoint relays: a few neighbours by which all stations two hops away are reached (RFC 3626
//! §8.3.1, with the coverage of §16).

use crate::message::{WILL_ALWAYS, WILL_NEVER};
use alloc::collections::{BTreeMap, BTreeSet};
use core::net::Ipv4Addr;

type Set = BTreeSet<Ipv4Addr>;

/// The relays among `neighbours`, which are symmetric, with their willingness. `reach`: whom each of
/// them reaches. `own` and neighbours need no relay.
pub fn select(
    own: Ipv4Addr,
    neighbours: &BTreeMap<Ipv4Addr, u8>,
    reach: &BTreeMap<Ipv4Addr, Set>,
    coverage: usize,
) -> Set {
    let willing = |node: &Ipv4Addr| neighbours.get(node).copied().unwrap_or(WILL_NEVER);
    // By each candidate, those two hops away.
    let candidates: BTreeMap<Ipv4Addr, Set> = (reach.iter())
        .filter(|(node, _)| willing(node) != WILL_NEVER)
        .map(|(node, all)| {
            let far = |to: &&Ipv4Addr| **to != own && !neighbours.contains_key(*to);
            (*node, all.iter().filter(far).copied().collect())
        })
        .collect();
    // By how many of them each can be reached, and how many relays it still needs.
    let mut ways: BTreeMap<Ipv4Addr, usize> = BTreeMap::new();
    for far in candidates.values().flatten() {
        *ways.entry(*far).or_default() += 1;
    }
    let needed = ways.iter().map(|(far, n)| (*far, coverage.min(*n)));
    let mut needs: BTreeMap<Ipv4Addr, usize> = needed.collect();
    let mut relays = Set::new();
    let always = candidates
        .keys()
        .filter(|node| willing(node) == WILL_ALWAYS);
    for node in always.copied().collect::<Set>() {
        take(node, &mut relays, &mut needs, &candidates);
    }
    // Those that alone reach somebody, or that are all needed (§8.3.1, 3; §16.1).
    let alone = |all: &Set| {
        all.iter()
            .any(|far| ways.get(far).is_some_and(|n| *n <= coverage))
    };
    for (node, all) in &candidates {
        if alone(all) {
            take(*node, &mut relays, &mut needs, &candidates);
        }
    }
    // Then the most willing, that which reaches most of the rest, that with most neighbours.
    loop {
        let open = |all: &Set| all.iter().filter(|far| needs.get(far) > Some(&0)).count();
        let left = candidates.iter().filter(|(node, _)| !relays.contains(node));
        let best = left
            .filter(|(_, all)| open(all) > 0)
            .max_by_key(|(node, all)| {
                let degree = reach.get(node).map_or(0, Set::len);
                // Of equals, the lowest address.
                (willing(node), open(all), degree, core::cmp::Reverse(**node))
            });
        let Some((node, _)) = best else { break };
        take(*node, &mut relays, &mut needs, &candidates);
    }
    prune(relays, &candidates, &ways, coverage, willing)
}

fn take(
    node: Ipv4Addr,
    relays: &mut Set,
    needs: &mut BTreeMap<Ipv4Addr, usize>,
    candidates: &BTreeMap<Ipv4Addr, Set>,
) {
    if relays.insert(node) {
        for far in candidates.get(&node).into_iter().flatten() {
            if let Some(need) = needs.get_mut(far) {
                *need = need.saturating_sub(1);
            }
        }
    }
}

/// Those that others make needless leave, the least willing first (§8.3.1, 5).
fn prune(
    mut relays: Set,
    candidates: &BTreeMap<Ipv4Addr, Set>,
    ways: &BTreeMap<Ipv4Addr, usize>,
    coverage: usize,
    willing: impl Fn(&Ipv4Addr) -> u8,
) -> Set {
    let mut covered: BTreeMap<Ipv4Addr, usize> = BTreeMap::new();
    for far in relays
        .iter()
        .filter_map(|node| candidates.get(node))
        .flatten()
    {
        *covered.entry(*far).or_default() += 1;
    }
    let mut order: alloc::vec::Vec<_> = relays.iter().copied().collect();
    order.sort_by_key(&willing);
    for node in order {
        let all = candidates.get(&node).into_iter().flatten();
        let needless = all.clone().all(|far| {
            let wanted = ways.get(far).map_or(0, |n| coverage.min(*n));
            covered.get(far).is_some_and(|n| *n > wanted)
        });
        if needless && willing(&node) != WILL_ALWAYS {
            relays.remove(&node);
            for far in all {
                if let Some(n) = covered.get_mut(far) {
                    *n -= 1;
                }
            }
        }
    }
    relays
}
