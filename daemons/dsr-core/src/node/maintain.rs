// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Route Maintenance after a break (RFC 4728 §8.3): the node sends Route Errors and salvages the
//! packets that the broken link left behind.

use super::Dsr;
use crate::event::{DropCause, Event, Evidence};
use crate::layer::{Fate, Layer, Stopped};
use crate::queue::Item;
use crate::tables::Waiting;
use crate::wire::{
    options::{MAX_ADDRESSES, MAX_EXTENSION},
    DsrOption, ErrorKind, Packet, RouteError, SourceRoute,
};
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use hoplab_base::Instant;

/// One Route Error in the making.
struct ErrorDraft {
    to: Ipv4Addr,
    back: Vec<Ipv4Addr>,
    salvage: u8,
    stopped: Vec<Stopped>,
    /// Route Errors and Acknowledgements that the packets of the break carried.
    carried: Vec<DsrOption>,
}

impl<L: Layer> Dsr<L> {
    /// The next hop is unreachable: `trigger` found out, and everything else queued for it
    /// shares its fate (§4.5, §8.3).
    pub(super) fn break_link(
        &mut self,
        now: Instant,
        hop: Ipv4Addr,
        why: Evidence,
        trigger: Item,
        mut more: Vec<Item>,
    ) {
        self.stats.link_failures += 1;
        let packet = trigger.packet.summary();
        self.event(Event::LinkFailure {
            next_hop: hop,
            packet,
            why,
        });
        // First, so that neither salvaging nor the Route Errors choose the broken link again.
        self.cache.remove_link(now, self.own, hop);
        more.extend(self.queue.pull(hop));
        more.extend(self.neighbours.pull(hop));
        more.extend(self.maintenance.pull(hop));

        let mut drafts: Vec<ErrorDraft> = Vec::new();
        let mut resend: Vec<Item> = Vec::new();
        let mut waiting: Vec<Item> = Vec::new();
        for mut item in core::iter::once(trigger).chain(more) {
            // The order matters: the next step takes away the reply that this one looks for. A
            // reply travels back along the route that it names, so that route has broken here.
            // An Acknowledgement Request counts for one hop, and the new hop gets its own.
            self.note_unidirectional(now, hop, &item.packet);
            item.packet.remove_options(|o| {
                matches!(
                    o,
                    DsrOption::RouteReply { .. } | DsrOption::AckRequest { .. }
                )
            });
            if item.packet.ip.source == self.own {
                self.retry_own(now, item);
                continue;
            }
            let travelled = item.packet.travelled();
            let salvaged = self.salvage(now, &item, &travelled);
            // A salvaged packet brings an error too (§8.3.6): its source must learn of the break.
            let draft = self.draft_for(&mut drafts, &item.packet, &travelled);
            if let Some(draft) = draft {
                draft.add(&item.packet, salvaged.as_ref().is_some_and(Result::is_ok));
            }
            match salvaged {
                Some(Ok(again)) => resend.push(again),
                Some(Err(cause)) => self.drop_packet(cause, Some(&item.packet)),
                None if self.settings.salvage_discovery && !item.packet.is_control() => {
                    waiting.push(item)
                }
                None => self.drop_packet(DropCause::LinkBroken, Some(&item.packet)),
            }
        }
        // Salvaging comes after the Route Error (§8.3.6).
        for draft in drafts {
            self.send_error(now, draft, hop);
        }
        for item in resend {
            self.enqueue(item);
        }
        self.stats.salvage_waits += waiting.len() as u64;
        for item in waiting {
            let (packet, attempts) = (item.packet, item.attempts);
            self.await_route(
                now,
                Waiting {
                    attempts,
                    ..Waiting::new(now, packet)
                },
            );
        }
    }

    /// Whatever waits for a route that is known by now is sent (§4.1, §8.2.6).
    pub(super) fn serve_waiting(&mut self, now: Instant) {
        if self.send_buffer.is_empty() {
            return;
        }
        for target in self.send_buffer.targets(|_| true) {
            if self.cache.find(now, target, &[]).is_none() {
                continue;
            }
            let waiting = self.send_buffer.take_for(target).into_iter();
            let (leaving, mut stuck) = waiting.partition::<Vec<_>, _>(|w| self.may_leave(now, w));
            self.warn_sources(now, &mut stuck);
            self.send_buffer.put_back(stuck);
            if leaving.is_empty() {
                continue;
            }
            // A route that was overheard ends the back-off as a reply does (§4.3).
            self.requests.answered(target);
            for w in leaving {
                if w.packet.ip.source == self.own {
                    self.originate(now, w);
                } else {
                    // It has visited nodes already, so it is salvaged and not originated.
                    self.salvage_waiting(now, w);
                }
            }
        }
    }

    /// A route came for a packet of another node that could not be salvaged at once.
    pub(super) fn salvage_waiting(&mut self, now: Instant, w: Waiting) {
        if self.is_custodian(&w.packet) {
            return self.send_as_custodian(now, w.packet);
        }
        let item = Item {
            next_hop: None,
            routing: false,
            maintained: true,
            attempts: w.attempts,
            since: w.since,
            packet: w.packet,
        };
        let travelled = item.packet.travelled();
        match self.salvage(now, &item, &travelled) {
            Some(Ok(again)) => self.enqueue(again),
            Some(Err(cause)) => self.drop_packet(cause, Some(&item.packet)),
            None => self.drop_packet(DropCause::LinkBroken, Some(&item.packet)),
        }
    }

    /// A reply goes back along the path of its request. Where it cannot, the link that the request
    /// crossed is unidirectional (§8.2.6).
    fn note_unidirectional(&mut self, now: Instant, hop: Ipv4Addr, packet: &Packet) {
        if self.settings.use_blacklist && packet.has_route_reply() {
            self.blacklist.add(now, hop);
            self.event(Event::Blacklist {
                node: hop,
                state: "probable",
            });
        }
    }

    /// A packet of this node's own met the broken link: another route, or a new discovery.
    fn retry_own(&mut self, now: Instant, item: Item) {
        let Item {
            mut packet,
            attempts,
            since,
            ..
        } = item;
        packet.remove_options(|o| matches!(o, DsrOption::SourceRoute(_)));
        // Not `is_control`: a reply that was alone in its packet has left no options behind.
        let control = packet.ip.protocol == crate::wire::NO_NEXT_HEADER;
        if (control && packet.options.is_none()) || attempts >= self.settings.max_salvage_count {
            return self.drop_packet(DropCause::LinkBroken, Some(&packet));
        }
        let to = packet.ip.destination;
        let w = Waiting {
            attempts: attempts + 1,
            ..Waiting::new(since, packet)
        };
        match self.cache.find(now, to, &[]) {
            Some(route) => {
                self.tell(&w.packet, Fate::Salvaged);
                self.send_along(now, w, &route);
            }
            None if control => self.drop_packet(DropCause::LinkBroken, Some(&w.packet)),
            None => self.await_route(now, w),
        }
    }

    /// §8.3.6. `None`: no other route; `Err`: a rule forbids it.
    fn salvage(
        &mut self,
        now: Instant,
        item: &Item,
        travelled: &[Ipv4Addr],
    ) -> Option<Result<Item, DropCause>> {
        if !self.settings.salvage || item.packet.is_control() {
            return None;
        }
        let old = item.packet.source_route()?;
        // The field has four bits (§6.7). Without the limit a packet could go round forever.
        if old.salvage >= self.settings.max_salvage_count.min(15) {
            return Some(Err(DropCause::SalvageLimit));
        }
        let avoid = if self.settings.visited_option {
            travelled
        } else {
            &[]
        };
        let route = self.cache.find(now, item.packet.ip.destination, avoid)?;
        // Both lists go into options whose length field has eight bits.
        if route.len() > MAX_ADDRESSES || travelled.len() > MAX_ADDRESSES {
            return None;
        }
        let salvage = old.salvage + 1;
        let mut packet = item.packet.clone();
        // Address[1] is this node (§8.3.6), which has already visited itself.
        let addresses = route[..route.len() - 1].to_vec();
        *packet.source_route_mut()? = SourceRoute {
            first_hop_external: false,
            last_hop_external: false,
            salvage,
            segments_left: (addresses.len() - 1) as u8,
            addresses,
        };
        // `travelled` includes what an earlier Visited option listed.
        packet.remove_options(|o| matches!(o, DsrOption::Visited(_)));
        if self.settings.visited_option {
            let options = packet.options.get_or_insert_default();
            options.push(DsrOption::Visited(travelled.to_vec()));
        }
        if packet.wire_len() > self.settings.link_mtu {
            return None;
        }
        self.cache.used(now, &route);
        self.stats.salvaged += 1;
        let next_hop = route.get(1).copied();
        self.event(Event::Salvage {
            packet: packet.summary(),
            route,
        });
        Some(Ok(Item {
            packet,
            next_hop,
            attempts: item.attempts + 1,
            ..item.clone()
        }))
    }

    /// The error for the packet's sender. A break makes one error for each sender, which lists all
    /// its lost packets. This satisfies the limit of §8.3 on silent losses.
    fn draft_for<'a>(
        &self,
        drafts: &'a mut Vec<ErrorDraft>,
        packet: &Packet,
        travelled: &[Ipv4Addr],
    ) -> Option<&'a mut ErrorDraft> {
        let own = self.own;
        let custodian = self.layer.custodian(packet).unwrap_or(packet.ip.source);
        let (salvage, to) = match packet.source_route() {
            // The node that salvaged the packet last chose the broken route (§8.3.4).
            Some(sr) if sr.salvage > 0 => (sr.salvage, *sr.addresses.first()?),
            // A custodian stands for the source of what it has taken over.
            _ if travelled.contains(&custodian) || custodian == own => (0, custodian),
            _ => (0, packet.ip.source),
        };
        let index = drafts
            .iter()
            .position(|draft| draft.to == to)
            .unwrap_or_else(|| {
                // `back` is the way by which the packet came, which just worked. If it does not
                // lead to `to`, it keeps this node alone, and `send_control` asks the cache.
                let mut back = vec![own];
                let from = travelled
                    .iter()
                    .position(|a| *a == to)
                    .unwrap_or(travelled.len());
                back.extend(travelled[from..].iter().rev());
                drafts.push(ErrorDraft {
                    to,
                    back,
                    salvage,
                    stopped: vec![],
                    carried: vec![],
                });
                drafts.len() - 1
            });
        drafts.get_mut(index)
    }

    /// §8.3.4: tells the sender, back along the way the packet came.
    fn send_error(&mut self, now: Instant, draft: ErrorDraft, unreachable: Ipv4Addr) {
        // This node salvaged the packet or is its custodian, and knows of the break already.
        if draft.to == self.own {
            return;
        }
        let mut warning = self.layer.warning(&draft.stopped);
        warning.extension.truncate(MAX_EXTENSION);
        let error = RouteError {
            kind: ErrorKind::NodeUnreachable(unreachable),
            salvage: draft.salvage,
            source: self.own,
            destination: draft.to,
            extension: warning.extension,
        };
        let mut options = vec![DsrOption::RouteError(error)];
        options.extend(self.carried_errors(draft.salvage, draft.carried));
        self.stats.errors_sent += 1;
        self.event(Event::ErrorSent {
            to: draft.to,
            unreachable,
            told: warning.told,
        });
        let packet = Packet::control(self.own, draft.to, options);
        self.send_control(now, packet, draft.back.clone());
        for packet in warning.packets {
            // `back` may end at a salvaging node or custodian. Then the cache must know the source.
            let there = packet.ip.destination == draft.to;
            let back = if there { draft.back.clone() } else { vec![] };
            self.send_control(now, packet, back);
        }
    }

    /// Errors and acknowledgements of the failed packet travel on behind the new error, up to
    /// the total salvage count (§8.3.4).
    fn carried_errors(&self, salvage: u8, carried: Vec<DsrOption>) -> Vec<DsrOption> {
        let limit = u32::from(self.settings.max_salvage_count);
        // Each error counts itself and the salvages of its packet. The sum bounds how often nested
        // errors can be sent on. The first one beyond the limit goes with all that follow it.
        let mut total = 1 + u32::from(salvage);
        let mut kept = Vec::new();
        for option in carried {
            if let DsrOption::RouteError(e) = &option {
                total += 1 + u32::from(e.salvage);
                if total > limit {
                    break;
                }
            }
            kept.push(option);
        }
        kept
    }
}

impl ErrorDraft {
    /// Takes in what became of a packet, and what it carried.
    fn add(&mut self, packet: &Packet, salvaged: bool) {
        self.stopped.push(Stopped {
            packet: packet.clone(),
            salvaged,
        });
        let worth = |o: &&DsrOption| matches!(o, DsrOption::RouteError(_) | DsrOption::Ack { .. });
        self.carried
            .extend(packet.options().iter().filter(worth).cloned());
    }
}
