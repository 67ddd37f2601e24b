// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A station's part in Split-TCP as a person reads it.

use hoplab_split_core::{Config, Row};
use std::fmt::Write;

const HEAD: [&str; 13] = [
    "connection",
    "role",
    "taken",
    "lacked",
    "delivered",
    "resent",
    "timeouts",
    "declined",
    "given up",
    "buffered",
    "in flight",
    "window",
    "rto ms",
];

/// A line for each connection, below a heading; a sentence where there is none.
pub fn told(rows: &[Row], config: &Config) -> String {
    if rows.is_empty() {
        return "no connection has been split here\n".into();
    }
    let mut lines = vec![HEAD.map(String::from)];
    lines.extend(rows.iter().map(|row| cells(row, config)));
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max();
    let widths: Vec<usize> = (0..HEAD.len()).map(|c| width(c).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            // Words to the left, numbers to the right.
            let _ = match column {
                0 => write!(text, "{cell:<width$}"),
                1 => write!(text, "  {cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
    text
}

fn cells(row: &Row, config: &Config) -> [String; HEAD.len()] {
    let t = &row.totals;
    [
        config.name(&row.connection),
        row.role.as_str().into(),
        t.taken.to_string(),
        t.lacked.to_string(),
        t.delivered.to_string(),
        t.retransmitted.to_string(),
        t.timeouts.to_string(),
        t.declined.to_string(),
        t.given_up.to_string(),
        row.buffered.to_string(),
        row.in_flight.to_string(),
        format!("{:.1}", row.window),
        format!("{:.0}", row.rto_s * 1e3),
    ]
}
