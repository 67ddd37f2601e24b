// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values that a column's type allows and its declaration does not.

/// A value that the schema does not allow.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("column {column}: {value}, expected {expected}")]
pub struct Wrong {
    pub column: &'static str,
    pub value: String,
    pub expected: String,
}

/// JSON has no infinity and no NaN: they would be written as if there were no value.
pub(crate) fn number(column: &'static str, value: Option<f64>) -> Result<(), Wrong> {
    match value {
        Some(value) if !value.is_finite() => Err(Wrong {
            column,
            value: value.to_string(),
            expected: "a number".into(),
        }),
        _ => Ok(()),
    }
}

pub(crate) fn one_of(
    column: &'static str,
    value: Option<&str>,
    values: &[&str],
) -> Result<(), Wrong> {
    match value {
        Some(value) if !values.contains(&value) => Err(Wrong {
            column,
            value: format!("{value:?}"),
            expected: values.join(", "),
        }),
        _ => Ok(()),
    }
}
