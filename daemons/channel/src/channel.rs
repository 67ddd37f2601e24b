// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Between hosts and the engine.

use std::collections::BTreeMap;

use hoplab_medium_core::Duration;
use hoplab_medium_core::{
    Agreement, Category, CategoryParams, Class, Dbm, Frame, FrameId, FurtherLink, Instant, LinkId,
    Medium, MediumId, Mhz, Numbered, Outcome, Output, Position, RadioId, Rate, Station,
    Subchannels, To, Waypoint,
};
use hoplab_wire::Mac;
use serde_json::{json, Value};

use crate::config::{Config, Measured, Radio};
use crate::dot11;
use crate::dozing::{Act, Dozing};
use crate::error::Error;
use crate::held::Held;
use crate::hosts::{Heard, Hosts, Sent, Status, Troubles};
use crate::records::Recorder;

const FCS_BYTES: usize = 4;

/// A change of the channel from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    Put {
        radio: RadioId,
        place: Position,
    },
    /// As [`Change::Put`], at its present height.
    Move {
        radio: RadioId,
        x_m: f64,
        y_m: f64,
    },
    Power {
        radio: RadioId,
        up: bool,
    },
    Lose {
        link: LinkId,
        rate: f64,
    },
    Level {
        link: LinkId,
        dbm: Dbm,
    },
    /// What is drawn from now on follows from this seed too.
    Reseed {
        seed: u64,
    },
    Fit {
        radio: RadioId,
        part: Part,
    },
    Assign {
        radio: RadioId,
        medium: MediumId,
    },
    /// One radio more, at the origin, with the next number.
    Add {
        mac: Mac,
    },
}

/// What of a radio's antenna changes: power, gain in dBi, height in m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    Power(Dbm),
    Gain(f64),
    Height(f64),
}

/// A frame that its host, or a delivery, waits for.
struct Pending<T> {
    frame: Held,
    ticket: T,
    /// The radio has sent it by itself.
    own: bool,
}

/// A frame that a radio sends by itself to ask for what its access point keeps. It is the one again
/// by which its host announced that it dozes.
struct Request<T> {
    bytes: Vec<u8>,
    frame: Frame,
    ticket: T,
}

/// What came from hosts and went to them.
#[derive(Default)]
struct Traffic {
    frames: u64,
    unicasts: u64,
    statuses: u64,
    deliveries: u64,
    /// Deauthentications between IBSS stations, which stay off the air.
    deauthentications: u64,
    refused_rates: u64,
    /// Frames that no host could take.
    oversized: u64,
    /// Frames that radios have sent by themselves, and how many of them are done with.
    requests: u64,
    requests_done: u64,
}

/// What its driver adds to what `medium.json` says.
#[derive(Default)]
pub struct Account {
    /// Where it works: `kernel` or `daemon`, as `network.medium`.
    pub home: &'static str,
    pub virtual_time: bool,
    pub troubles: Troubles,
    /// System calls by name; `clock` counts only where time is virtual.
    pub calls: Value,
    /// How late deliveries were; null in virtual time.
    pub lateness: Value,
    /// Reasons of its own not to trust the run.
    pub doubts: Vec<String>,
    /// The longest frame that a host takes.
    pub longest_frame: usize,
}

/// The engine, its records, and the frames between it and hosts. Drive it as one drives a
/// [`Medium`]: [`advance`](Self::advance) to now, then input, then [`hand_out`](Self::hand_out).
pub struct Channel<T> {
    medium: Medium,
    recorder: Recorder,
    /// Radio of each address that frames are sent to.
    radios: BTreeMap<Mac, RadioId>,
    pending: BTreeMap<FrameId, Pending<T>>,
    next_id: FrameId,
    traffic: Traffic,
    /// See [`Channel::hold_beacons`].
    phases: Vec<Duration>,
    /// Beacons that are held back, by the time at which they come.
    late: BTreeMap<(Instant, FrameId), (RadioId, Frame)>,
    /// See [`Config::others_radios`].
    others_radios: bool,
    /// See [`Config::rts_threshold`].
    rts_threshold: usize,
    /// The medium makes block ack agreements, or sends frames one by one by rules that have them:
    /// hosts are kept from agreements of their own.
    agrees: bool,
    /// Frames that agreements of the hosts' own may have outstanding; 0 where they make none.
    window: usize,
    /// See [`Config::data_rate`].
    data_rates: Vec<Rate>,
    /// See [`Config::roams`].
    roams: bool,
    /// See [`Config::have_own_categories`].
    own_categories: bool,
    /// See [`Config::power_save`].
    dozing: Option<Dozing>,
    requests: BTreeMap<RadioId, Request<T>>,
    /// Up to when everything has happened.
    now: Instant,
}

impl<T: Clone> Channel<T> {
    /// Whether hosts must make no block ack agreements.
    pub fn agrees(&self) -> bool {
        self.agrees
    }

    /// Frames that agreements of the hosts' own may have outstanding; 0 where they make none.
    pub fn window(&self) -> usize {
        self.window
    }

    pub fn new(config: Config) -> Result<Self, Error> {
        let recorder = Recorder::new(&config)?;
        let ids = (0..).map(RadioId::new);
        let radios = config.macs().into_iter().zip(ids).collect();
        let way = |radio: &Radio| Station {
            name: radio.name.clone(),
            waypoints: radio.waypoints.clone(),
        };
        let by_category = config.params.edca.is_some();
        let own_categories = config.have_own_categories();
        let aggregation = config.params.edca.and_then(|edca| edca.aggregation);
        let by_hosts = aggregation.filter(|aggregation| aggregation.by_hosts);
        let window = by_hosts.map_or(0, |aggregation| aggregation.window);
        let ways = config.stations.iter().map(way).collect();
        let phases = config.stations.iter().map(|radio| radio.beacon_offset);
        let phases = phases.collect();
        let mut medium = Medium::new(config.params, ways, config.losses);
        if config.records.frames || config.records.air_capture.is_some() {
            medium = medium.traced();
        }
        if config.overhear {
            medium = medium.overheard();
        }
        if config.level_error_db > 0.0 {
            medium = medium.misread(config.level_error_db);
        }
        for (index, station) in config.stations.into_iter().enumerate() {
            let radio = RadioId::new(index);
            for event in station.power {
                medium.schedule_power(event.at, radio, event.up);
            }
            if let Some(nic) = station.nic {
                medium.equip(radio, nic);
            }
            if let Some(mhz) = station.channel_mhz {
                medium.place_on(radio, Mhz(mhz.into()));
            }
            if let Some(width) = station.width_mhz {
                medium.narrow(radio, width);
            }
            for (number, link) in (1..).zip(station.links) {
                let link = FurtherLink {
                    station: Station {
                        name: format!("{}/{number}", station.name),
                        waypoints: station.waypoints.clone(),
                    },
                    channel: Mhz(link.channel_mhz.into()),
                    width: link.width_mhz,
                    frequency_mhz: link.frequency_mhz,
                };
                medium.add_link(radio, link);
            }
            if let Some(emlsr) = station.emlsr {
                medium.make_single(radio, emlsr);
            }
            if let Some(own) = station.categories {
                for (category, params) in Category::ALL.into_iter().zip(own) {
                    medium.contend_by(radio, category, params);
                }
            }
        }
        if let Some(measured) = config.measured {
            let link = |one: &Measured| LinkId {
                from: one.from,
                to: one.to,
            };
            let traces = measured.into_iter().map(|one| (link(&one), one.points));
            medium.set_rssi_traces(traces.collect());
        }
        medium.schedule_measure(config.epoch);
        Ok(Self {
            medium,
            recorder,
            radios,
            pending: BTreeMap::new(),
            next_id: 0,
            traffic: Traffic::default(),
            phases,
            late: BTreeMap::new(),
            others_radios: config.others_radios,
            // By categories the engine protects what is on the air together, not each frame of it.
            rts_threshold: match by_category {
                true => usize::MAX,
                false => config.rts_threshold,
            },
            agrees: by_category && by_hosts.is_none(),
            window,
            data_rates: config.data_rate.map_or_else(Vec::new, |named| named.0),
            roams: config.roams,
            own_categories,
            dozing: config
                .power_save
                .map(|settings| Dozing::new(settings, config.epoch)),
            requests: BTreeMap::new(),
            now: Instant::ZERO,
        })
    }

    /// Hold back each radio's beacons by so long.
    pub fn hold_beacons(&mut self, phases: Vec<Duration>) {
        self.phases = phases;
    }

    /// The engine, to be set up further.
    pub fn medium(&mut self) -> &mut Medium {
        &mut self.medium
    }

    /// Before this time nothing happens that a host could notice, unless a frame comes first.
    pub fn due(&self) -> Option<Instant> {
        let late = self.late.first_key_value().map(|(key, _)| key.0);
        let dozing = self.dozing.as_ref().and_then(Dozing::due);
        let next = self.medium.next_output();
        next.into_iter().chain(late).chain(dozing).min()
    }

    /// When records are to be written next. They may be later: the engine is brought to each time
    /// at which they are of.
    pub fn next_record(&self) -> Option<Instant> {
        self.recorder.next_due()
    }

    /// Bring the engine to `now`, by way of every time at which the recorder reads it, or a beacon
    /// was held back until.
    pub fn advance(&mut self, now: Instant) -> Result<(), Error> {
        while let Some(first) = self.late.first_entry() {
            let (at, _) = *first.key();
            if at > now {
                break;
            }
            let (radio, frame) = first.remove();
            self.reach(at)?;
            self.medium.enqueue(radio, frame);
        }
        self.reach(now)
    }

    fn reach(&mut self, now: Instant) -> Result<(), Error> {
        while let Some((at, radio, act)) = self.dozing.as_mut().and_then(|it| it.take(now)) {
            self.come(at)?;
            self.follow(radio, act);
        }
        self.come(now)
    }

    /// A radio dozes, wakes, or asks for what its access point keeps.
    fn follow(&mut self, radio: RadioId, act: Act) {
        match act {
            Act::Doze => self.medium.rest(radio),
            Act::Wake => self.medium.doze(radio, false),
            Act::Ask => self.ask(radio),
        }
    }

    fn ask(&mut self, radio: RadioId) {
        self.medium.doze(radio, false);
        let Some(request) = self.requests.get(&radio) else {
            return;
        };
        self.next_id += 1;
        let waits = Pending {
            frame: (self.recorder).hold(&request.bytes, dot11::parse(&request.bytes)),
            ticket: request.ticket.clone(),
            own: true,
        };
        let frame = Frame {
            id: self.next_id,
            ..request.frame.clone()
        };
        self.traffic.requests += 1;
        self.pending.insert(self.next_id, waits);
        self.medium.enqueue(radio, frame);
    }

    fn come(&mut self, now: Instant) -> Result<(), Error> {
        while let Some(at) = self.recorder.next_due().filter(|at| *at <= now) {
            self.medium.advance(at);
            self.recorder.record(&self.medium, at)?;
        }
        self.medium.advance(now);
        self.now = self.now.max(now);
        self.recorder.reach(now)
    }

    /// Make a change, at the time `now` of the last [`advance`](Self::advance).
    pub fn change(&mut self, change: Change, now: Instant) {
        match change {
            Change::Put { radio, place } => self.medium.put(radio, place),
            Change::Move { radio, x_m, y_m } => {
                let Position { z_m, .. } = self.medium.position(radio, now);
                self.medium.put(radio, Position { x_m, y_m, z_m });
            }
            Change::Power { radio, up } => self.medium.schedule_power(now, radio, up),
            Change::Lose { link, rate } => self.medium.set_loss(link, rate),
            Change::Level { link, dbm } => {
                self.medium.set_rssi(link, dbm);
            }
            Change::Reseed { seed } => self.medium.reseed(seed),
            Change::Fit { radio, part } => {
                let mut antenna = self.medium.antenna(radio);
                match part {
                    Part::Power(dbm) => antenna.tx_power_dbm = dbm,
                    Part::Gain(dbi) => antenna.gain_dbi = dbi,
                    Part::Height(metres) => antenna.height_m = metres,
                }
                self.medium.fit(radio, antenna);
            }
            Change::Assign { radio, medium } => self.medium.assign(radio, medium),
            Change::Add { mac } => self.add(mac),
        }
        self.medium.advance(now);
    }

    fn add(&mut self, mac: Mac) {
        let name = mac.to_string();
        let place = Waypoint::new(Instant::ZERO, Position::default());
        let radio = self.medium.add(Station {
            name: name.clone(),
            waypoints: vec![place],
        });
        self.radios.insert(mac, radio);
        self.recorder.add(name, mac);
    }

    /// Whether radios are where their hosts tune them to.
    pub fn follows(&self) -> bool {
        self.roams
    }

    /// A host has tuned its radio to the channel with this centre, at the time of the last
    /// [`advance`](Self::advance).
    pub fn tuned(&mut self, radio: RadioId, mhz: u16) {
        if self.roams {
            self.medium.place_on(radio, Mhz(mhz.into()));
            self.recorder.tuned(radio, mhz);
        }
    }

    /// Whether radios contend as their hosts learn it from their access points.
    pub fn learns_categories(&self) -> bool {
        self.own_categories
    }

    /// A host's radio contends like this in a category from now on, at the time of the last
    /// [`advance`](Self::advance).
    pub fn contends(&mut self, radio: RadioId, category: Category, params: CategoryParams) {
        self.medium.contend_by(radio, category, params);
    }

    /// From now on a host's packets go by way of this access point, or of none. The host takes no
    /// frame of another access point, even if its radio acknowledges it.
    pub fn associated(&mut self, radio: RadioId, point: Option<Mac>) {
        self.recorder.associated(radio, point);
    }

    /// The rate of a data frame where the kernel's rate control does not know it. `common` is the
    /// channel of both ends.
    fn data_rate(
        &mut self,
        (from, to): (RadioId, To),
        common: Option<Subchannels>,
        bytes: usize,
    ) -> Option<Rate> {
        match (to, self.data_rates.as_slice()) {
            (To::Radio(to), rates @ [_, _, ..]) => {
                let on_it = |rate: &Rate| common.map_or(*rate, |channel| rate.at_most(channel));
                let rates: Vec<_> = rates.iter().map(on_it).collect();
                self.medium.ideal_rate((from, to), bytes, &rates)
            }
            (_, rates) => rates.first().copied(),
        }
    }

    /// A host's radio sends a frame, at the time `now` of the last [`advance`](Self::advance).
    pub fn accept<H: Hosts<Ticket = T>>(&mut self, hosts: &mut H, sent: Sent<'_, T>, now: Instant) {
        if self.others_radios {
            self.medium.tune(sent.radio, Mhz(sent.frequency_mhz));
            // Of a radio with several, as an access point with several networks.
            if let Some(sender) = sent.header.and_then(|header| header.transmitter) {
                self.radios.insert(sender, sent.radio);
            }
        }
        let Some(to) = self.prepare(hosts, &sent) else {
            return;
        };
        let dozing = self.dozing.as_ref();
        let instead = dozing.and_then(|dozing| dozing.instead_of(sent.radio, sent.bytes));
        let octets = instead.as_deref().unwrap_or(sent.bytes);
        let can_ask = dozing.is_some_and(|dozing| dozing.can_ask(octets));
        if let Some(dozing) = &mut self.dozing {
            dozing.announced(sent.radio, sent.bytes);
        }
        let header = sent.header;
        let phase = self.phases.get(sent.radio.index());
        let phase = phase.copied().filter(|phase| !phase.is_zero());
        if let (Some(dozing), Some(header)) = (&mut self.dozing, header) {
            dozing.sent(header, sent.bytes, now + phase.unwrap_or_default());
        }
        self.next_id += 1;
        let bytes = sent.bytes.len() + FCS_BYTES;
        let mut rates = sent.rates;
        let link = (sent.radio, to);
        let common = common_channel(&self.medium, link);
        let data_rate = self.data_rate(link, common, bytes);
        let of_ht = rates.iter_mut().filter(|try_| try_.rate.scheme().is_some());
        of_ht.for_each(|try_| {
            try_.rts |= bytes > self.rts_threshold;
            // The kernel sends nothing but data at HT's and VHT's rates.
            let rate = data_rate.unwrap_or(try_.rate);
            try_.rate = common.map_or(rate, |channel| rate.at_most(channel));
        });
        let number = header.and_then(|header| header.sequence);
        let numbered = number.map(|sequence| Numbered {
            sequence,
            window: sent.window,
        });
        let frame = Frame {
            id: self.next_id,
            to,
            bytes,
            rates,
            class: header.map_or(Class::Management, |header| header.class),
            routing: header.is_some_and(|header| header.routing),
            tid: header.and_then(|header| header.tid),
            numbered: (sent.window > 0).then_some(numbered).flatten(),
        };
        if can_ask {
            let request = Request {
                bytes: octets.to_vec(),
                frame: frame.clone(),
                ticket: sent.ticket.clone(),
            };
            self.requests.insert(sent.radio, request);
        }
        let waits = Pending {
            // The octets are the host's, which has them only until this returns. For mac80211 may
            // drop its frame before the last delivery, and netlink's buffer is used again.
            frame: self.recorder.hold(octets, header),
            ticket: sent.ticket,
            own: false,
        };
        self.pending.insert(self.next_id, waits);
        match phase {
            Some(phase) if frame.class.is_beacon() => {
                self.late
                    .insert((now + phase, self.next_id), (sent.radio, frame));
            }
            _ => self.medium.enqueue(sent.radio, frame),
        }
    }

    /// Where a frame goes; none where it does not go on the air.
    fn prepare<H: Hosts<Ticket = T>>(&mut self, hosts: &mut H, sent: &Sent<'_, T>) -> Option<To> {
        let once = |acked| Status {
            acked,
            tries: [1, 0, 0, 0],
            airtime: Duration::ZERO,
            agreement: Agreement::default(),
        };
        // Linux deauthenticates every IBSS station that was silent for 60 s when it forgets it.
        // Here all stations have once heard all others, far ones included, before time 0. A minute
        // later these frames, tried over and over, would fill the channel for seconds.
        if sent.header.is_some_and(|header| header.leaves_ibss) {
            self.traffic.deauthentications += 1;
            hosts.status(&sent.ticket, &once(true));
            return None;
        }
        // What goes together is decided here, for hosts of any kernel. A request that finds no answer
        // leaves its sender without an agreement; minstrel then believes that frames go one by one.
        let asks = sent.header.is_some_and(|header| header.asks_for_block_ack);
        if self.agrees && asks {
            hosts.status(&sent.ticket, &once(true));
            return None;
        }
        // It asks for its frames by itself.
        let dozing = self.dozing.as_ref();
        if dozing.is_some_and(|dozing| dozing.keeps(sent.bytes)) {
            hosts.status(&sent.ticket, &once(true));
            return None;
        }
        // Acknowledged it would vanish on its way to the receiving host.
        if sent.bytes.len() > hosts.longest_frame() {
            self.traffic.oversized += 1;
            hosts.status(&sent.ticket, &once(false));
            return None;
        }
        let to = match sent.header.map(|header| header.receiver) {
            None => To::Nobody,
            Some(receiver) if receiver.is_group() => To::Everyone,
            Some(receiver) => self
                .radios
                .get(&receiver)
                .map_or(To::Nobody, |radio| To::Radio(*radio)),
        };
        self.traffic.frames += 1;
        self.traffic.unicasts += u64::from(to != To::Everyone);
        Some(to)
    }

    /// Give hosts and records everything that the engine has decided; returns how many statuses and
    /// deliveries that were.
    pub fn hand_out<H: Hosts<Ticket = T>>(&mut self, hosts: &mut H) -> Result<u64, H::Error> {
        let before = self.traffic.deliveries + self.traffic.statuses;
        while let Some(output) = self.medium.poll_output() {
            let mut act = None;
            match output {
                Output::Deliver {
                    frame,
                    to,
                    signal_dbm,
                    rate,
                    ..
                } => {
                    if let Some(pending) = self.pending.get(&frame) {
                        if let Some(dozing) = &mut self.dozing {
                            let does = dozing.heard(to, &pending.frame.bytes, self.now);
                            act = does.map(|act| (to, act));
                        }
                        self.traffic.deliveries += 1;
                        let heard = Heard { signal_dbm, rate };
                        hosts.deliver(to, &pending.frame.bytes, &pending.ticket, heard);
                    }
                }
                Output::Status {
                    frame,
                    radio,
                    at,
                    outcome,
                    tries,
                    airtime,
                    agreement,
                    kept,
                } => {
                    if let Some(pending) = self.pending.get(&frame) {
                        self.recorder.dropped(radio, at, outcome, &pending.frame)?;
                        if outcome == Outcome::Acked {
                            self.recorder.acknowledged(at, &pending.frame)?;
                            if let Some(dozing) = &mut self.dozing {
                                let does = dozing.told(radio, &pending.frame.bytes, at);
                                act = does.map(|act| (radio, act));
                            }
                        }
                    }
                    let status = Status {
                        acked: outcome.succeeded(),
                        tries,
                        airtime,
                        agreement,
                    };
                    self.status(hosts, frame, outcome, &status);
                    if !kept {
                        self.pending.remove(&frame);
                    }
                }
                Output::Released { frame } => {
                    self.pending.remove(&frame);
                }
                Output::Aired(aired) => {
                    let pending = aired.frame.and_then(|frame| self.pending.get(&frame));
                    let held = pending.map(|pending| &pending.frame);
                    self.recorder.aired(&aired, held)?;
                }
                Output::Exhausted { radio, at } => self.recorder.exhausted(radio, at)?,
            }
            if let Some((radio, act)) = act {
                self.follow(radio, act);
            }
            hosts.flush(false)?;
        }
        hosts.flush(true)?;
        Ok(self.traffic.deliveries + self.traffic.statuses - before)
    }

    fn status<H: Hosts<Ticket = T>>(
        &mut self,
        hosts: &mut H,
        frame: u64,
        outcome: Outcome,
        status: &Status,
    ) {
        let Some(pending) = self.pending.get(&frame) else {
            return;
        };
        if pending.own {
            self.traffic.requests_done += 1;
            return;
        }
        if outcome == Outcome::Refused {
            self.traffic.refused_rates += 1;
            if self.traffic.refused_rates == 1 {
                hosts.say(
                    "a frame's rate is none of the channel's standard: frames at such rates are \
                     refused",
                );
            }
        }
        self.traffic.statuses += 1;
        hosts.status(&pending.ticket, status);
    }

    /// Reasons not to trust the run.
    fn doubts(&self, account: &Account) -> Vec<String> {
        let (audit, traffic) = (self.medium.audit(), &self.traffic);
        let mut doubts = account.doubts.clone();
        doubts.extend(
            self.recorder
                .missing()
                .map(|early| format!("it was stopped {early}")),
        );
        if account.troubles.overruns > 0 {
            doubts.push(format!(
                "messages of the kernel were lost {} times: the receive buffer was full",
                account.troubles.overruns
            ));
        }
        if traffic.oversized > 0 {
            doubts.push(format!(
                "{} frames of more than {} bytes were refused, which no radio takes: \
                 use a smaller MTU or mss",
                traffic.oversized, account.longest_frame
            ));
        }
        let open = audit.open + self.late.len() as u64;
        let came = traffic.frames + traffic.requests;
        let went = traffic.statuses + traffic.requests_done;
        if !audit.holds() || came != went + open {
            doubts.push(format!(
                "{came} frames came, {went} statuses went and {open} are open: {audit:?}"
            ));
        }
        doubts
    }

    /// End the records; an error where the run was cut short. What casts doubt on the run goes to
    /// `say` first.
    pub fn finish(self, account: Account, mut say: impl FnMut(&str)) -> Result<(), Error> {
        let doubts = self.doubts(&account);
        for doubt in &doubts {
            say(&format!("do not trust this run: {doubt}"));
        }
        let own = self.own_record(account, &doubts);
        let early = self.recorder.missing();
        self.recorder.finish(&self.medium, &own)?;
        early.map_or(Ok(()), |early| Err(Error::Stopped(early)))
    }

    /// What `medium.json` says.
    fn own_record(&self, account: Account, doubts: &[String]) -> Value {
        let (audit, traffic) = (self.medium.audit(), &self.traffic);
        let Account {
            home,
            virtual_time,
            troubles,
            mut calls,
            lateness,
            ..
        } = account;
        let counted = calls.as_object().into_iter().flatten();
        let all: u64 = counted
            // Outside virtual time the clock is read without entering the kernel (vdso(7)).
            .filter(|(call, _)| virtual_time || *call != "clock")
            .filter_map(|(_, count)| count.as_u64())
            .sum();
        calls["per_frame"] = json!(all as f64 / traffic.frames.max(1) as f64);
        json!({
            "home": home,
            "trustworthy": doubts.is_empty(),
            "doubts": doubts,
            "frames": {
                "accepted": audit.accepted,
                "acked": audit.acked,
                "sent": audit.sent,
                "retry_limit": audit.retry_limit,
                "queue_full": audit.queue_full,
                "off": audit.off,
                "refused": audit.refused,
                "open": audit.open,
            },
            "kernel": {
                "frames": traffic.frames,
                "unicasts": traffic.unicasts,
                "statuses": traffic.statuses,
                "deliveries": traffic.deliveries,
                "malformed": troubles.malformed,
                "unknown_radios": troubles.unknown_radios,
                "overruns": troubles.overruns,
                "oversized": traffic.oversized,
                "deauthentications": traffic.deauthentications,
                "refused_statuses": troubles.refused_statuses,
                "refused_deliveries": troubles.refused_deliveries,
            },
            "system_calls": calls,
            "virtual_time": virtual_time,
            "lateness": lateness,
            "engine_events": self.medium.handled(),
        })
    }
}

/// The part of its sender's channel that both ends of a link have; none where all radios have the same.
fn common_channel(medium: &Medium, (from, to): (RadioId, To)) -> Option<Subchannels> {
    let own = medium.subchannels(from);
    let others = match to {
        To::Radio(to) => medium.subchannels(to),
        To::Everyone | To::Nobody => None,
    };
    match (own, others) {
        (Some(own), Some(others)) => Some(own.part(others.width)),
        _ => own.or(others),
    }
}
