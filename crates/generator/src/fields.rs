//! The header fields of a command line, for a command that leaves the load to others.

use std::path::Path;

use anyhow::Context;
use results::Secrets;

use crate::options::header_field;
use crate::secret;

#[cfg(test)]
mod tests;

/// A header field of every request.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: String,
    pub value: String,
    /// True if it is of a file, whose values no output shows.
    pub is_of_file: bool,
}

/// Reads the fields of `--header` and of `--header-file`, in this order.
pub fn of_options(header: &[String], file: Option<&Path>) -> anyhow::Result<Vec<Field>> {
    let of_option = |field: &String| {
        let (name, value) = header_field(field).context("--header")?;
        Ok(Field { name, value, is_of_file: false })
    };
    let mut fields = header.iter().map(of_option).collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(path) = file {
        let of_file = secret::fields(path, &mut Secrets::default())?.into_iter();
        fields.extend(of_file.map(|(name, value)| Field { name, value, is_of_file: true }));
    }
    Ok(fields)
}
