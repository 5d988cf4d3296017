//! A CSV file with a time in each row, of whatever tool. The user says what a row is, and the unit.

use std::io::BufRead;

use results::foreign::Facts;

use crate::samples::{Ended, Samples, cut_off, label_of, of_tool};
use crate::table::{Table, delimiter};
use crate::{Asked, Format, Found, Question, time};

pub(crate) const CSV: Format = Format {
    name: "csv",
    what: "a CSV file of any tool (with --rows requests --column NAME --unit ms)",
    asks: &[Question::Unit, Question::Column, Question::Rows],
    // Nothing in a table says that it has times: the options do.
    is: |_| false,
    read,
};

fn read(input: &mut dyn BufRead, asked: &Asked) -> Result<Found, String> {
    if !asked.rows_are_requests {
        return Err("say what a row is: --rows requests if it has the time of one request; figures of whole \
                    trials are analysed with --by and --metrics"
            .to_owned());
    }
    let unit = asked.unit.ok_or("say the unit of its times: --unit ns, us, ms or s")?;
    let line = match input.fill_buf() {
        Ok(bytes) => String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().to_owned(),
        Err(error) => return Err(error.to_string()),
    };
    let delimiter = delimiter(&line);
    let cells: Vec<&str> =
        line.split(char::from(delimiter)).map(|cell| cell.trim().trim_matches('"')).collect();
    let is_header = cells.iter().all(|cell| cell.parse::<f64>().is_err());
    let mut table = match is_header {
        true => Table::named(input, delimiter)?,
        false => Table::plain(input, delimiter),
    };
    let column = column(&table, asked.column.as_deref(), cells.len(), is_header)?;
    let (mut samples, mut limits) = (Samples::default(), Vec::new());
    while table.next()? {
        let line = table.line();
        let time = table.number(column).and_then(|number| time(number, unit));
        let Some(time) = time else {
            let cell = label_of(&table.text(column));
            if !table.is_cut_off()? {
                return Err(format!(
                    "line {line}: `{cell}` is not a time; rows without one cannot be left out"
                ));
            }
            limits.push(cut_off(line));
            break;
        };
        samples.add(time, Ended::Well);
    }
    limits.push(of_tool(
        "nothing says whether the table has all requests, failed ones too: those that are missing are mostly the \
         slowest",
    ));
    let facts = samples.facts()?;
    let facts = Facts { failed: None, unanswered: None, ..facts };
    Ok(Found { tool: "unknown".to_owned(), facts, limits, ..Found::default() })
}

/// Returns the place of the column with the times.
fn column(
    table: &Table<'_>,
    asked: Option<&str>,
    width: usize,
    is_header: bool,
) -> Result<usize, String> {
    let place = match asked {
        None if width == 1 => return Ok(0),
        None => {
            return Err(
                "say which column has the times: --column NAME, or its number from 1".to_owned()
            );
        }
        Some(name) if is_header && table.column(name).is_some() => return table.needed(name),
        Some(name) => name.parse::<usize>().ok().filter(|place| (1..=width).contains(place)),
    };
    match place {
        Some(place) => Ok(place - 1),
        None if is_header => table.needed(asked.unwrap_or_default()),
        None => {
            Err(format!("its columns have no names: --column takes their numbers, 1 to {width}"))
        }
    }
}
