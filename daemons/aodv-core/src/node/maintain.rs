// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Broken links: Route Errors (RFC 3561 §6.11), local repair (§6.12), the blacklist (§6.8) and
//! Hellos (§6.9, §6.10).

use super::Aodv;
use crate::event::{DropCause, Event};
use crate::message::{self, Message, Reply, RouteError, MOST_UNREACHABLE};
use crate::PORT;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;
use hoplab_routing_core::Sequence;
use hoplab_wire::{ipv4, udp, Mac, PROTOCOL_UDP};

impl Aodv {
    /// The link layer could not deliver this IP packet to the neighbour (§6.10).
    pub(super) fn failed(&mut self, now: Instant, to: Mac, packet: &[u8]) {
        let Some(neighbour) = self.outbox.neighbours().address(to) else {
            return;
        };
        let Some(view) = ipv4::View::new(packet) else {
            return;
        };
        let (source, destination) = (view.source(), view.destination());
        let message = view.protocol() == PROTOCOL_UDP
            && udp::ports(view.payload()) == Some((PORT, PORT))
            && destination == neighbour;
        if message {
            if matches!(view.payload().get(udp::HEADER_LEN), Some(2)) {
                self.blacklist(now, neighbour);
            }
            if self.settings.link_layer_feedback {
                self.broken(now, neighbour, "not-acknowledged", None);
            }
            return;
        }
        if !self.settings.link_layer_feedback {
            return;
        }
        // Without the route that the packet took, its fate is only its own.
        let mended = source != self.own && self.settings.local_repair;
        let repair = mended.then_some((source, destination));
        self.broken(now, neighbour, "not-acknowledged", repair);
        let waits = source == self.own || self.discoveries.contains_key(&destination);
        let again = self.table.valid(destination).is_some();
        if (waits || again) && self.settings.keep_failed_packets {
            self.route(now, source, destination, packet.to_vec());
        } else {
            self.drop(DropCause::LinkBroken, packet);
        }
    }

    /// The link to a neighbour broke. `repair`: source and destination of the packet that did not
    /// get through.
    pub(super) fn broken(
        &mut self,
        now: Instant,
        neighbour: Ipv4Addr,
        why: &'static str,
        repair: Option<(Ipv4Addr, Ipv4Addr)>,
    ) {
        self.hellos.remove(&neighbour);
        let lost = self.table.by(neighbour);
        if lost.is_empty() {
            return;
        }
        self.stats.link_failures += 1;
        let next_hop = neighbour;
        self.tell(Event::LinkFailure { next_hop, why });
        self.unroute(&lost);
        for destination in &lost {
            self.invalidate(now, *destination, None);
        }
        let near = |to: Ipv4Addr| {
            let route = self.table.get(to);
            route.is_some_and(|r| r.hops <= self.settings.max_repair_ttl)
        };
        let repair = repair.filter(|(_, to)| lost.contains(to) && near(*to));
        // All but the one that is being mended are lost (§6.12).
        let mut gone = lost;
        gone.retain(|to| repair.is_none_or(|(_, mended)| mended != *to));
        self.lost(now, &gone);
        if let Some((source, destination)) = repair {
            self.mend(now, source, destination);
        }
    }

    /// Looks for another way, as far as it may be (§6.12).
    fn mend(&mut self, now: Instant, source: Ipv4Addr, destination: Ipv4Addr) {
        let hops = self.table.get(destination).map_or(1, |route| route.hops);
        let back = self.table.get(source).map_or(0, |route| route.hops);
        let ttl = hops.max(back / 2);
        let ttl = ttl.saturating_add(self.settings.local_add_ttl);
        self.repair(now, destination, ttl, hops);
    }

    /// Routes that are gone: their precursors must know (§6.11).
    pub(super) fn lost(&mut self, now: Instant, destinations: &[Ipv4Addr]) {
        self.report(now, destinations, false);
    }

    /// A mended route is longer than before: its sources may want a better one (§6.12).
    pub(super) fn longer(&mut self, now: Instant, destination: Ipv4Addr) {
        self.report(now, &[destination], true);
    }

    /// Sends a Route Error about those of the destinations that have precursors.
    fn report(&mut self, now: Instant, destinations: &[Ipv4Addr], no_delete: bool) {
        let mut to = BTreeSet::new();
        let mut unreachable = Vec::new();
        for destination in destinations {
            let Some(route) = self.table.get(*destination) else {
                continue;
            };
            if !route.precursors.is_empty() {
                to.extend(route.precursors.iter().copied());
                unreachable.push((*destination, route.sequence.unwrap_or_default()));
            }
        }
        if !no_delete {
            for destination in destinations {
                self.table.clear_precursors(*destination);
            }
        }
        self.send_error(now, &to, unreachable, no_delete);
    }

    fn send_error(
        &mut self,
        now: Instant,
        to: &BTreeSet<Ipv4Addr>,
        unreachable: Vec<(Ipv4Addr, Sequence)>,
        no_delete: bool,
    ) {
        for part in unreachable.chunks(MOST_UNREACHABLE) {
            if !self.errors.allows(now) {
                return;
            }
            let error = Message::Error(RouteError {
                no_delete,
                unreachable: part.to_vec(),
            });
            // One precursor gets it alone (§6.11).
            let alone = match to.len() {
                1 => to.first().copied(),
                _ => None,
            };
            let alone = alone.filter(|one| self.unicast(now, *one, &error));
            if alone.is_none() {
                self.broadcast(now, 1, &error);
            }
            self.stats.errors_sent += 1;
            self.tell(Event::ErrorSent {
                to: alone,
                unreachable: part.iter().map(|(to, _)| *to).collect(),
                no_delete,
            });
        }
    }

    /// A packet of another station has no route here (§6.11, case ii).
    pub(super) fn refuse(&mut self, now: Instant, destination: Ipv4Addr, packet: &[u8]) {
        if now < self.silent_until {
            // Others believe in routes of before the reboot (§6.13).
            self.silent_until = now + self.settings.delete_period_ns;
            self.drop(DropCause::Rebooting, packet);
        } else {
            self.drop(DropCause::NoRoute, packet);
        }
        let until = now + self.settings.delete_period_ns;
        self.table.remember(destination, until);
        let route = self.table.get(destination);
        let sequence = route.and_then(|r| r.sequence).unwrap_or_default();
        let to = route.map_or_else(BTreeSet::new, |r| r.precursors.clone());
        self.send_error(now, &to, [(destination, sequence)].to_vec(), false);
    }

    pub(super) fn handle_error(&mut self, now: Instant, from: Ipv4Addr, error: &RouteError) {
        self.neighbour(now, from, self.settings.active_route_timeout_ns);
        let mut gone = Vec::new();
        for (destination, sequence) in &error.unreachable {
            let by = self.table.valid(*destination).map(|r| r.next_hop) == Some(from);
            if by && *destination != from {
                gone.push(*destination);
                if !error.no_delete {
                    self.invalidate(now, *destination, Some(*sequence));
                }
            }
        }
        if gone.is_empty() {
            return;
        }
        let no_delete = error.no_delete;
        if !no_delete {
            self.unroute(&gone);
        }
        self.tell(Event::ErrorReceived {
            from,
            unreachable: gone.clone(),
            no_delete,
        });
        self.report(now, &gone, no_delete);
    }

    /// A neighbour does not get replies: its requests lead nowhere (§6.8).
    fn blacklist(&mut self, now: Instant, node: Ipv4Addr) {
        self.unacknowledged.remove(&node);
        let until = now + self.settings.blacklist_timeout_ns;
        self.blacklist.insert(now, node, until);
        self.tell(Event::Blacklist { node });
    }

    /// Neighbours that sent no RREP-ACK, or no Hello, in time.
    pub(super) fn silent_neighbours(&mut self, now: Instant) {
        let due = |(node, at): (&Ipv4Addr, &Instant)| (*at <= now).then_some(*node);
        let mute: Vec<_> = self.unacknowledged.iter().filter_map(due).collect();
        for node in mute {
            self.blacklist(now, node);
        }
        let gone: Vec<_> = self.hellos.iter().filter_map(due).collect();
        for node in gone {
            self.hellos.remove(&node);
            self.broken(now, node, "no-hello", None);
        }
    }

    /// Tells neighbours of this station, if it is part of a route and has sent no broadcast (§6.9).
    pub(super) fn hello(&mut self, now: Instant) {
        if !self.settings.hello || now < self.next_hello {
            return;
        }
        let interval = self.settings.hello_interval_ns;
        self.next_hello = now + interval;
        let active = self.table.all().any(|(_, route)| route.is_valid());
        if !active || now.since(self.last_broadcast) < interval {
            return;
        }
        let hello = Reply {
            acknowledge: false,
            prefix: 0,
            hops: 0,
            destination: self.own,
            sequence: self.sequence,
            originator: self.own,
            lifetime: interval.saturating_mul(self.settings.allowed_hello_loss),
            extensions: message::hello_interval(interval),
        };
        self.stats.hellos_sent += 1;
        self.broadcast(now, 1, &Message::Reply(hello));
    }
}
