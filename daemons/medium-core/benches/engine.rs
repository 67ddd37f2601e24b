// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Events per second of the engine with 10, 100 and 1000 radios at constant density, all saturated.
//!
//! `cargo bench --manifest-path daemons/Cargo.toml -p hoplab-medium-core`; throughput is in
//! events, and each size's cost per frame is printed first.

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use hoplab_medium_core::{
    Attempts, Class, Duration, Frame, Instant, Medium, Output, Params, Position, RadioId, Rate,
    Station, Stream, To, Waypoint,
};

/// One radio in this area: about 21 others in carrier-sense range of 550 m.
const AREA_M2: f64 = 45_000.0;

struct Network {
    medium: Medium,
    /// The receiver of each radio's frames: its nearest neighbour.
    nearest: Vec<usize>,
    /// Mean number of radios in carrier-sense range.
    near: f64,
    next_id: u64,
    frames: u64,
}

impl Network {
    fn new(count: usize, moving: bool) -> Self {
        let mut random = Stream::new(1, "bench");
        let side = (AREA_M2 * count as f64).sqrt();
        let mut places = Vec::new();
        for _ in 0..count {
            places.push(Position::new(random.unit() * side, random.unit() * side));
        }
        let nearest = (0..count).map(|i| {
            let distance = |j: usize| {
                let (a, b): (Position, Position) = (places[i], places[j]);
                (a.x_m - b.x_m).hypot(a.y_m - b.y_m)
            };
            let others = (0..count).filter(|j| *j != i);
            others
                .min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
                .unwrap_or(i)
        });
        let nearest: Vec<usize> = nearest.collect();
        let ordered = (0..count * count).map(|i| (places[i / count], places[i % count]));
        let pairs = ordered
            .filter(|(a, b)| a != b && (a.x_m - b.x_m).hypot(a.y_m - b.y_m) <= 550.0)
            .count();
        let stations = places.iter().enumerate();
        let stations = stations.map(|(i, &start)| {
            let mut station = Station::at(&format!("n{i}"), start);
            if moving {
                // 2 m/s.
                let hour = Instant::ZERO + Duration::from_secs(3600);
                let end = Position::new(start.x_m + 7_200.0, start.y_m);
                station.waypoints.push(Waypoint::new(hour, end));
            }
            station
        });
        let mut network = Self {
            medium: Medium::new(Params::default(), stations.collect(), Vec::new()),
            nearest,
            near: pairs as f64 / count as f64,
            next_id: 0,
            frames: 0,
        };
        for radio in 0..count {
            network.send(radio);
            network.send(radio);
        }
        // Into the steady state.
        network.handle(50_000);
        network.frames = 0;
        network
    }

    fn send(&mut self, radio: usize) {
        self.next_id += 1;
        let frame = Frame {
            id: self.next_id,
            to: To::Radio(RadioId::new(self.nearest[radio])),
            bytes: 1536,
            rates: vec![Attempts {
                rate: Rate::DSSS_2,
                tries: 7,
                rts: false,
            }],
            class: Class::Data,
            routing: false,
            tid: None,
            numbered: None,
        };
        self.medium.enqueue(RadioId::new(radio), frame);
    }

    /// Let `events` events happen.
    fn handle(&mut self, events: u64) {
        let until = self.medium.handled() + events;
        while self.medium.handled() < until {
            let Some(next) = self.medium.next_deadline() else {
                return;
            };
            self.medium.advance(next);
            while let Some(output) = self.medium.poll_output() {
                if let Output::Status { radio, .. } = output {
                    self.frames += 1;
                    self.send(radio.index());
                }
            }
        }
    }
}

fn engine(criterion: &mut Criterion) {
    const EVENTS: u64 = 100_000;
    for moving in [false, true] {
        let name = if moving { "moving" } else { "static" };
        let mut group = criterion.benchmark_group(name);
        group.sample_size(20);
        group.throughput(Throughput::Elements(EVENTS));
        for count in [10, 100, 1000] {
            let mut network = Network::new(count, moving);
            let begin = std::time::Instant::now();
            network.handle(10 * EVENTS);
            let took_s = begin.elapsed().as_secs_f64();
            println!(
                "{name} {count}: {:.1} in range, {:.2} us a frame, {:.2} M events/s",
                network.near,
                took_s * 1e6 / network.frames as f64,
                10.0 * EVENTS as f64 / took_s / 1e6
            );
            group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
                bencher.iter(|| network.handle(EVENTS));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, engine);
criterion_main!(benches);
