// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program of a routing daemon: its command line, and where it runs.

use crate::error::Error;
use clap::builder::PossibleValue;
use clap::{Arg, ArgMatches, Command};
use hoplab_document::DocumentError;
use hoplab_linux::resident::Resident;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

/// What the control socket answers at each daemon, and what that is.
pub const REQUESTS: [(&str, &str); 4] = [
    ("routes", "Print the routes, one a line"),
    ("stats", "Print the counters, one a line"),
    ("flush", "Forget all routes"),
    (
        "settings",
        "Print the settings in force, as the document has them",
    ),
];

/// A routing daemon as a program. `C` is its document.
pub struct Program<C, E> {
    /// Of the protocol, as in `hoplab NAME`. The program is `hoplab-NAME`.
    pub name: &'static str,
    /// The protocol in full, with its source.
    pub title: &'static str,
    /// How it sits in the kernel.
    pub long: &'static str,
    /// Requests of the control socket besides [`REQUESTS`].
    pub requests: &'static [(&'static str, &'static str)],
    /// Whether the document wants it in the kernel, where that offers it.
    pub resident: fn(&C) -> bool,
    pub serve: fn(&C) -> Result<(), E>,
}

impl<C, E> Program<C, E> {
    fn command_line(&self) -> Command {
        let (name, program) = (self.name, format!("hoplab-{}", self.name));
        let about = format!("{} daemon", self.title);
        let long = format!(
            "{program} runs {} on a Linux wireless interface.\n\n{}",
            self.title, self.long
        );
        let after = format!(
            "\
DOCUMENT
  JSON with final values. 'hoplab {name} FILE' checks a TOML file, completes it, writes the document and
  starts the daemon with it; 'hoplab {name} --help' explains the keys.

SIGNALS
  SIGTERM, SIGINT   write the remaining records and exit with status 0

EXIT STATUS
  0 after SIGTERM, 1 when something could not be set up

EXAMPLES
  hoplab {name} {name}.toml
  {program} {name}.json
  {program} ctl routes"
        );
        let requests = REQUESTS.iter().chain(self.requests);
        let values: Vec<_> = requests
            .map(|(word, does)| PossibleValue::new(*word).help(*does))
            .collect();
        let control = Arg::new("control")
            .long("control")
            // The name is abstract, so every network namespace has its own and nothing is left behind.
            .default_value(format!("@{program}"))
            .help("The daemon's control socket; a leading @ means an abstract name");
        let request = Arg::new("request").required(true).value_parser(values);
        let document = Arg::new("document")
            .value_parser(clap::value_parser!(PathBuf))
            .value_name("DOCUMENT")
            .help("What the daemon is to do, JSON");
        let ctl = Command::new("ctl").about("Ask a running daemon");
        Command::new(program)
            .version(env!("CARGO_PKG_VERSION"))
            .about(about)
            .long_about(long)
            .after_long_help(after)
            .args_conflicts_with_subcommands(true)
            .arg_required_else_help(true)
            .arg(document)
            .subcommand(ctl.arg(control).arg(request))
    }
}

impl<C, E> Program<C, E>
where
    C: FromStr<Err = DocumentError>,
    E: Display + From<Error>,
{
    /// Does what the command line wants.
    pub fn main(&self) -> ExitCode {
        let matches = self.command_line().get_matches();
        let result = match matches.subcommand() {
            Some((_, asked)) => ask(asked).map_err(E::from),
            None => self.run(matches.get_one::<PathBuf>("document")),
        };
        result.unwrap_or_else(|message| {
            eprintln!("hoplab-{}: {message}", self.name);
            ExitCode::FAILURE
        })
    }

    /// Serves by the document, in the kernel where it offers that.
    fn run(&self, path: Option<&PathBuf>) -> Result<ExitCode, E> {
        let path = path.map_or(Path::new(""), PathBuf::as_path);
        let text = hoplab_document::text(path).map_err(Error::from)?;
        let config: C = hoplab_document::parse_of(path, &text).map_err(Error::from)?;
        hoplab_linux::signals::catch_in_wait();
        match Resident::open().filter(|_| (self.resident)(&config)) {
            None => (self.serve)(&config).map(|()| ExitCode::SUCCESS),
            Some(resident) => {
                let name = format!("hoplab-{}", self.name);
                match resident.run(&name, &text).map_err(Error::Resident)? {
                    true => Ok(ExitCode::SUCCESS),
                    // It has said why.
                    false => Ok(ExitCode::FAILURE),
                }
            }
        }
    }
}

fn ask(matches: &ArgMatches) -> Result<ExitCode, Error> {
    let word = |name: &str| matches.get_one::<String>(name).map_or("", String::as_str);
    let text = hoplab_linux::control::ask(word("control"), word("request"))?;
    print!("{text}");
    Ok(ExitCode::SUCCESS)
}

/// The answer to a request that no daemon knows.
pub fn unknown(request: &str, more: &[(&str, &str)]) -> String {
    let words: Vec<_> = REQUESTS.iter().chain(more).map(|(word, _)| *word).collect();
    format!(
        "unknown request {request:?}: expected {}\n",
        words.join(", ")
    )
}

/// Says on standard output that the daemon routes.
pub fn ready() -> Result<(), Error> {
    hoplab_linux::say::line("ready").map_err(Error::Output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        let program = Program::<(), Error> {
            name: "dsr",
            title: "Dynamic Source Routing (RFC 4728)",
            long: "",
            requests: &[("split", "")],
            resident: |()| true,
            serve: |()| Ok(()),
        };
        program.command_line().debug_assert();
        let asks = |word| {
            let words = ["hoplab-dsr", "ctl", word];
            program.command_line().try_get_matches_from(words).is_ok()
        };
        assert!(asks("split") && asks("routes") && !asks("root"));
        let told = unknown("root", program.requests);
        assert!(told.ends_with("expected routes, stats, flush, settings, split\n"));
    }
}
