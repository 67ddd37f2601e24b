// SPDX-License-Identifier: Apache-2.0
//! Connects the protocol core to the system: TUN, packet sockets, clock, records. One thread,
//! one `ppoll`. Frames come through rings without a call of their own and leave in batches; what
//! need not be known at once (reports of frames sent, overheard frames) is gathered for a while.

use crate::config::{Config, Overhear};
use crate::control::{self, Control};
use crate::ring::Ring;
use crate::sys::{self, Batch, Configurator, Receives};
use crate::{monitor, netlink};
use hoplab_dsr_core::{Dsr, Event, Instant, LinkDestination, Mac, Output, Token};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

/// Longest wait without looking at the clock, ns.
const IDLE_NS: u64 = 3_600_000_000_000;
/// Octets of a sent frame that identify it when its report comes back.
const PREFIX: usize = 72;
const ETHERNET: usize = 14;
/// How long reports of frames sent and overheard frames may wait for a wake-up that comes for
/// another reason, ns. Reports do not wait while one of them would let the next frame go.
const GATHER_NS: u64 = 20_000_000;
/// Largest payload of an IEEE 802.11 frame (aMSDU aside), octets.
const WLAN_MTU: u32 = 2304;

pub struct Shell {
    core: Dsr,
    own: Mac,
    clock: Clock,
    tun: File,
    /// Receives; `sender` sends and gets the reports.
    link: Ring,
    sender: OwnedFd,
    overhear: Option<Ring>,
    /// Keeps the monitor interface alive.
    _monitor: Option<OwnedFd>,
    control: Control,
    batch: Batch,
    /// Until when reports and overheard frames are gathered.
    reports_due: u64,
    foreign_due: u64,
    /// When a frame was overheard last.
    foreign_read: u64,
    /// Unicast frames whose report is outstanding, oldest first.
    awaited: VecDeque<(Token, Vec<u8>)>,
    heard: BTreeMap<Mac, u16>,
    /// Signal of the latest frame of each neighbour that was for this station or for all, dBm.
    signals: BTreeMap<Mac, i16>,
    name: String,
    log: Option<Log>,
    counters: Option<File>,
}

/// The time without a system call a round: `ppoll` tells how long it waited. Where the clock is
/// cheap (any kernel but User-Mode Linux, where reading it is a system call) it is read.
struct Clock {
    now: u64,
    cheap: bool,
    rounds: u32,
}

/// Rounds between readings of an expensive clock, so that unmeasured work cannot add up.
const RESYNC: u32 = 64;

impl Clock {
    fn new() -> Self {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Clock {
            now: sys::clock(),
            cheap: !info.contains("User Mode Linux"),
            rounds: 0,
        }
    }

    fn waited(&mut self, ns: u64) {
        self.rounds += 1;
        if self.cheap || self.rounds >= RESYNC {
            self.rounds = 0;
            self.now = self.now.max(sys::clock());
        } else {
            self.now += ns;
        }
    }
}

struct Log {
    out: BufWriter<File>,
    node: String,
    epoch: u64,
}

impl Log {
    fn write(&mut self, now: u64, event: &Event) {
        let t = (now as i64 - self.epoch as i64) as f64 / 1e9;
        let (node, kind) = (&self.node, event.kind());
        // A full disk must not stop forwarding; the final flush reports it.
        let _ = writeln!(
            self.out,
            "{{\"t_s\":{t:.9},\"node\":{node:?},\"source\":\"dsr\",\"kind\":\"{kind}\",\
             \"detail\":\"{event}\"}}"
        );
    }
}

impl Shell {
    pub fn set_up(config: &Config) -> Result<Self, String> {
        let (address, prefix) = config.address()?;
        let net = Configurator::new()?;
        let interface = config.interface.as_str();
        let index = net.index(interface)?;
        let own = Mac(net.mac(interface)?);
        if net.set_mtu(interface, WLAN_MTU).is_err() {
            eprintln!(
                "{interface}: MTU stays {}, long routes may not fit",
                net.mtu(interface)?
            );
        }
        let mut settings = config.settings.clone();
        settings.link_mtu = settings.link_mtu.min(net.mtu(interface)?);
        quiet_ip(&net, interface, address, prefix)?;
        let tun = sys::open_tun(&config.tun)?;
        set_sysctl(&format!("ipv6/conf/{}/disable_ipv6", config.tun), "1");
        net.set_ip(&config.tun, address, Some(prefix))?;
        net.set_mtu(&config.tun, config.tun_mtu)?;
        net.up(&config.tun)?;
        net.up(interface)?;
        let link = sys::packet_socket(index, Receives::All)?;
        let sender = sys::packet_socket(index, Receives::Nothing)?;
        sys::want_reports(&sender)?;
        let (monitor, overhear) = match config.overhear {
            Overhear::Off => (None, None),
            Overhear::Promiscuous => {
                sys::promiscuous(&link, index)?;
                (None, None)
            }
            Overhear::Monitor => {
                let name = format!("mon{index}");
                let owner = netlink::monitor(index, &name)?;
                net.up(&name)?;
                let socket = sys::packet_socket(net.index(&name)?, Receives::All)?;
                // Frames for this station are of use only for their signal, which the interface
                // itself does not tell.
                if settings.signal_threshold_dbm.is_none() {
                    sys::filter(&socket, &mut monitor::others_only(own))?;
                }
                (Some(owner), Some(Ring::new(socket)?))
            }
        };
        let log = config.events.as_ref().map(|path| {
            let file = File::options().create(true).append(true).open(path);
            let file = file.map_err(|e| format!("events {}: {e}", path.display()))?;
            let out = BufWriter::with_capacity(1 << 16, file);
            Ok::<_, String>(Log {
                out,
                node: config.name.clone(),
                epoch: config.epoch_ns,
            })
        });
        let counters = config.counters.as_ref().map(|path| {
            File::create(path).map_err(|e| format!("counters {}: {e}", path.display()))
        });
        let control = Control::bind(&config.control)?;
        if !config.keep_privileges {
            sys::drop_privileges();
        }
        Ok(Shell {
            core: Dsr::new(address, own, settings, config.stream()),
            own,
            clock: Clock::new(),
            tun: File::from(tun),
            link: Ring::new(link)?,
            sender,
            overhear,
            _monitor: monitor,
            control,
            batch: Batch::new(),
            reports_due: 0,
            foreign_due: 0,
            foreign_read: 0,
            awaited: VecDeque::new(),
            heard: BTreeMap::new(),
            signals: BTreeMap::new(),
            name: config.name.clone(),
            log: log.transpose()?,
            counters: counters.transpose()?,
        })
    }

    /// Runs until SIGTERM; then writes what is left of the records.
    pub fn run(mut self) -> Result<(), String> {
        while !sys::stopped() {
            let (mut fds, until) = self.interests();
            let left = sys::wait(&mut fds, until);
            self.clock.waited(until - left.min(until));
            self.round(&fds);
        }
        if let Some(mut file) = self.counters {
            write_counters(&mut file, &self.name, &self.core)
                .map_err(|e| format!("counters: {e}"))?;
        }
        match self.log.map(|mut log| log.out.flush()) {
            Some(Err(e)) => Err(format!("events: {e}")),
            _ => Ok(()),
        }
    }

    /// What to wait for, and how long at most, ns. What is being gathered is left out until its
    /// time has come; after that it is waited for, so that silence costs nothing.
    fn interests(&self) -> ([libc::pollfd; 5], u64) {
        let now = self.clock.now;
        let poll = |fd, wanted: bool| libc::pollfd {
            fd: if wanted { fd } else { -1 },
            events: libc::POLLIN,
            revents: 0,
        };
        let gather_reports = self.reports_due > now && !self.core.blocked();
        let gather_foreign = self.foreign_due > now;
        let foreign = self.overhear.as_ref().map_or(-1, Ring::fd);
        let fds = [
            poll(self.link.fd(), true),
            poll(self.tun.as_raw_fd(), true),
            poll(foreign, !gather_foreign),
            poll(self.control.fd(), true),
            poll(self.sender.as_raw_fd(), !gather_reports),
        ];
        let mut at = self.core.next_deadline().map_or(u64::MAX, |i| i.0);
        if gather_reports && self.core.outstanding() > 0 {
            at = at.min(self.reports_due);
        }
        if gather_foreign && self.overhear.is_some() {
            at = at.min(self.foreign_due);
        }
        // Never zero: in virtual time only waiting lets time pass.
        (fds, at.saturating_sub(now).clamp(1_000, IDLE_NS))
    }

    fn round(&mut self, fds: &[libc::pollfd; 5]) {
        let now = self.clock.now;
        let waited_for = fds[4].fd >= 0;
        let reported = fds[4].revents & libc::POLLERR != 0;
        // A report that is there lets what arrives go on at once.
        let gathered = !waited_for && (self.reports_due <= now || self.core.full());
        if self.core.outstanding() > 0 && (reported || gathered) {
            self.read_reports();
            self.reports_due = now + GATHER_NS;
        }
        // Any wake-up serves to read what costs no call; and signals are known before frames.
        let heard = self.read_foreign();
        let others = [0, 1, 3, 4].iter().any(|i| fds[*i].revents != 0);
        if others || heard && now - self.foreign_read < GATHER_NS / 3 {
            self.foreign_due = now + GATHER_NS;
        }
        if heard {
            self.foreign_read = now;
        }
        self.read_link();
        if fds[1].revents & libc::POLLIN != 0 {
            self.read_tun();
        }
        let now = Instant(self.clock.now);
        if fds[3].revents & libc::POLLIN != 0 {
            self.control.serve(&mut self.core, now);
        }
        if self.core.next_deadline().is_some_and(|at| at <= now) {
            self.core.handle_timeout(now);
        }
        self.drain();
    }

    fn read_reports(&mut self) {
        let now = Instant(self.clock.now);
        for (start, acked) in self.batch.reports(&self.sender) {
            let same = |sent: &Vec<u8>| {
                let n = sent.len().min(start.len());
                n > ETHERNET && sent[ETHERNET..n] == start[ETHERNET..n]
            };
            if let Some(i) = self.awaited.iter().position(|(_, sent)| same(sent)) {
                if let Some((token, _)) = self.awaited.remove(i) {
                    self.core.handle_tx_status(now, token, acked);
                }
            }
        }
    }

    fn read_link(&mut self) {
        let (now, own, core) = (Instant(self.clock.now), self.own, &mut self.core);
        let signals = &self.signals;
        self.link.read(|frame| {
            let Some((head, packet)) = frame.split_first_chunk::<ETHERNET>() else {
                return;
            };
            let mac = |at: usize| Mac(std::array::from_fn(|i| head[at + i]));
            let (to, from) = (mac(0), mac(6));
            let kind = u16::from_be_bytes([head[12], head[13]]);
            if kind == 0x0800 || kind == 0x0806 {
                let promiscuous = !to.is_group() && to != own;
                let signal = signals.get(&from).copied();
                core.handle_frame(now, from, to, packet, signal, promiscuous);
            }
        });
    }

    /// Whether there was anything to read.
    fn read_foreign(&mut self) -> bool {
        let Some(ring) = &mut self.overhear else {
            return false;
        };
        let (now, own, core) = (Instant(self.clock.now), self.own, &mut self.core);
        let (last_heard, signals) = (&mut self.heard, &mut self.signals);
        ring.read(|frame| {
            let Some(heard) = monitor::parse(frame) else {
                return;
            };
            let (from, to) = (heard.source, heard.destination);
            if from == own {
                return;
            }
            if to == own || to.is_group() {
                signals.extend(heard.signal_dbm.map(|dbm| (from, dbm)));
                return;
            }
            // A repeated frame was heard already (IEEE 802.11-2020 10.3.2.14).
            let last = last_heard.insert(from, heard.sequence);
            if heard.retry && last == Some(heard.sequence) {
                return;
            }
            core.handle_frame(now, from, to, heard.packet, heard.signal_dbm, true);
        })
    }

    fn read_tun(&mut self) {
        let mut packet = [0u8; sys::FRAME];
        sys::count(sys::Call::Tun);
        if let Ok(len) = self.tun.read(&mut packet) {
            if len > 0 && packet[0] >> 4 == 4 {
                self.core
                    .handle_ip_packet(Instant(self.clock.now), &packet[..len]);
            }
        }
    }

    fn drain(&mut self) {
        let mut frames: Vec<Vec<u8>> = Vec::new();
        while let Some(output) = self.core.poll_output() {
            match output {
                // A full TUN queue is the stack's loss, as on any interface.
                Output::Deliver(packet) => {
                    sys::count(sys::Call::Tun);
                    drop(self.tun.write(&packet));
                }
                Output::Event(event) => {
                    if let Some(log) = &mut self.log {
                        log.write(self.clock.now, &event);
                    }
                }
                Output::Transmit {
                    to,
                    ethertype,
                    bytes,
                    token,
                    ..
                } => {
                    let mac = match to {
                        LinkDestination::Unicast(mac) => mac,
                        LinkDestination::Broadcast => Mac::BROADCAST,
                    };
                    let mut frame = Vec::with_capacity(ETHERNET + bytes.len());
                    frame.extend_from_slice(&mac.0);
                    frame.extend_from_slice(&self.own.0);
                    frame.extend_from_slice(&ethertype.to_be_bytes());
                    frame.extend_from_slice(&bytes);
                    if to != LinkDestination::Broadcast {
                        let prefix = frame[..frame.len().min(PREFIX)].to_vec();
                        self.awaited.push_back((token, prefix));
                        // Reports that never came; the core has given up on them long ago.
                        if self.awaited.len() > 1024 {
                            self.awaited.pop_front();
                        }
                    }
                    frames.push(frame);
                }
            }
        }
        if !frames.is_empty() {
            if self.core.outstanding() == frames.len() {
                self.reports_due = self.clock.now + GATHER_NS;
            }
            sys::send(&self.sender, &frames);
        }
    }
}

fn write_counters(file: &mut File, node: &str, core: &Dsr) -> std::io::Result<()> {
    let line =
        |(name, value)| format!("{{\"node\":{node:?},\"counter\":\"{name}\",\"value\":{value}}}\n");
    let text: String = control::counters(core).into_iter().map(line).collect();
    file.write_all(text.as_bytes())
}

/// Keeps the kernel's own IP layer off the wireless interface: its address moves to the TUN
/// interface, and strict reverse-path filtering discards what the daemon handles, since the
/// stations' addresses are all reached through TUN.
fn quiet_ip(net: &Configurator, name: &str, own: Ipv4Addr, prefix: u8) -> Result<(), String> {
    if let Some(old) = net.ip(name) {
        let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
        if (u32::from(old) ^ u32::from(own)) & mask == 0 {
            net.set_ip(name, Ipv4Addr::UNSPECIFIED, None)?;
        }
    }
    set_sysctl(&format!("ipv4/conf/{name}/rp_filter"), "1");
    set_sysctl(&format!("ipv4/conf/{name}/arp_ignore"), "8");
    Ok(())
}

fn set_sysctl(name: &str, value: &str) {
    let path = format!("/proc/sys/net/{name}");
    if let Err(e) = std::fs::write(&path, value) {
        eprintln!("{path}: could not write {value}: {e}");
    }
}
