// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Requests and responses in turn on one connection.

use crate::config::{Request, Respond};
use crate::error::Error;
use crate::rows::{self, of_exchange};
use crate::stay;
use hoplab_base::Instant;
use hoplab_linux::tcp::{Connection, Options, Outcome};
use hoplab_linux::{kernel, signals, wait_exactly};
use hoplab_records::exchanges::Table;
use hoplab_traffic_core::{End, Exchange, Thinking, Turn, Turns};
use std::io;

/// Sends each request and takes its whole response, until all are done. Then stays connected.
pub fn request(config: &Request) -> Result<(), Error> {
    let options = Options {
        traffic_class: config.traffic_class,
        no_delay: true,
        ..Options::default()
    };
    let Some(mut connection) = Connection::connect(config.own, config.to, &options)? else {
        return Ok(());
    };
    let turns = Turns::new(config.request, config.response, config.seed);
    let mut thinking = Thinking::new(config.think, config.seed);
    let numbers = 1..=config.transactions.unwrap_or(u64::MAX);
    for (number, turn) in numbers.zip(turns) {
        let sent = kernel::now();
        let came = transact(&mut connection, turn);
        let now = kernel::now();
        let end = match came {
            Ok(Outcome::Done) => End::Answered {
                rtt: now.since(sent),
                octets: turn.response,
            },
            // The run's end is the flow's end, however late the signal comes.
            _ => End::GivenUp {
                at: now.min(config.end_ns),
            },
        };
        let done = Exchange {
            number,
            sent,
            octets: turn.request,
            end,
        };
        rows::add::<Table>(&config.rows, [of_exchange(&done, &config.rows)])?;
        match came.map_err(Error::Request)? {
            Outcome::Done => think_until(now + thinking.time()),
            Outcome::Closed => return Err(Error::Closed),
            Outcome::Stopped => return Ok(()),
        }
        if signals::stopped() {
            return Ok(());
        }
    }
    stay();
    Ok(())
}

fn transact(connection: &mut Connection, turn: Turn) -> io::Result<Outcome> {
    match connection.send(turn.request)? {
        Outcome::Done => connection.take(turn.response),
        other => Ok(other),
    }
}

fn think_until(due: Instant) {
    while kernel::now() < due && !signals::stopped() {
        wait_exactly(&mut [], due);
    }
}

/// Takes one connection, and answers each request when all of it has come.
pub fn respond(config: &Respond) -> Result<(), Error> {
    let Some(connection) = Connection::accept(config.own, config.traffic_class, false)? else {
        return Ok(());
    };
    let mut connection = connection.without_delay()?;
    for turn in Turns::new(config.request, config.response, config.seed) {
        // Why a connection ended the asking end says.
        if !matches!(answer(&mut connection, turn), Ok(Outcome::Done)) {
            break;
        }
    }
    stay();
    Ok(())
}

fn answer(connection: &mut Connection, turn: Turn) -> io::Result<Outcome> {
    match connection.take(turn.request)? {
        Outcome::Done => connection.send(turn.response),
        other => Ok(other),
    }
}
