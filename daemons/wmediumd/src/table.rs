// SPDX-License-Identifier: Apache-2.0
//! Tables of frame losses by level and rate, as wmediumd's option `-x` names them. A line is a
//! level in dBm, with the probability of a loss at each of hwsim's twelve legacy rates.

use hoplab_medium_core::{ErrorTable, Rate};

/// Noise that the tables' levels assume.
const NOISE_DBM: i32 = -91;

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// A line is not as it should be.
    #[error("line {line}: expected {expected}")]
    Line { line: usize, expected: &'static str },
    /// There is no line with a level.
    #[error("holds no levels")]
    Empty,
}

/// `text`'s levels must rise by 1 dB from line to line.
pub fn parse(text: &str) -> Result<ErrorTable, TableError> {
    let mut table = ErrorTable::default();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |expected| TableError::Line {
            line: i + 1,
            expected,
        };
        let mut words = line.split_whitespace();
        let level = words.next().and_then(|word| word.parse::<i32>().ok());
        let level = level.ok_or_else(|| wrong("a level in whole dBm"))?;
        let losses: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
        let losses: [f64; Rate::LEGACY.len()] = losses
            .get(..Rate::LEGACY.len())
            .and_then(|losses| losses.try_into().ok())
            .filter(|losses: &[f64; Rate::LEGACY.len()]| {
                losses.iter().all(|p| (0.0..=1.0).contains(p))
            })
            .ok_or_else(|| wrong("twelve probabilities"))?;
        if table.rows.is_empty() {
            table.first_db = level.saturating_sub(NOISE_DBM);
        } else if level.saturating_sub(NOISE_DBM) != table.first_db + table.rows.len() as i32 {
            return Err(wrong("the level after that of the line before"));
        }
        table.rows.push(losses);
    }
    if table.rows.is_empty() {
        return Err(TableError::Empty);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_by_level() {
        let ones = " 1.00E+00".repeat(11);
        let text = format!("# levels\n-84\t0.9{ones}\n-83\t0.5{ones}\n");
        let table = parse(&text).expect("a table");
        let loss = |level: f64| table.loss(Rate::DSSS_1, level + 91.0);
        assert_eq!(
            (loss(-85.0), loss(-84.0), loss(-83.2), loss(-80.0)),
            (1.0, 0.9, 0.5, 0.0)
        );
        assert_eq!(table.loss(Rate::OFDM_54, 7.6), 1.0);
        assert!(parse(&format!("-84 0{ones}\n-82 0{ones}")).is_err());
        assert!(parse("-84 0.5").is_err() && parse("").is_err());
    }
}
