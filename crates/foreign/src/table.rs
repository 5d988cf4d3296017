//! A CSV file of any length, one record at a time.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// The most bytes of a record: a quotation mark without its counterpart must not collect the whole file.
const MOST: u64 = 4 << 20;

pub(crate) struct Table<'a> {
    reader: csv::Reader<Bounded<'a>>,
    columns: Vec<String>,
    record: csv::ByteRecord,
    /// The bytes that were read since the last record.
    since: Rc<Cell<u64>>,
    /// True if the last byte that was read ends a line.
    is_ended: Rc<Cell<bool>>,
}

struct Bounded<'a> {
    input: &'a mut dyn BufRead,
    since: Rc<Cell<u64>>,
    is_ended: Rc<Cell<bool>>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if MOST < self.since.get() {
            return Err(io::Error::other(
                "a record is longer than 4 MiB; is a quotation mark missing?",
            ));
        }
        let length = self.input.read(buffer)?;
        self.since.set(self.since.get() + length as u64);
        if let Some(last) = buffer[..length].last() {
            self.is_ended.set(matches!(last, b'\n' | b'\r'));
        }
        Ok(length)
    }
}

impl<'a> Table<'a> {
    /// Begins a table, of which the first record has the names of the columns.
    pub(crate) fn named(input: &'a mut dyn BufRead, delimiter: u8) -> Result<Table<'a>, String> {
        let mut table = Table::plain(input, delimiter);
        if table.next()? {
            table.columns = table.record.iter().map(text).collect();
        }
        Ok(table)
    }

    /// Begins a table without names.
    pub(crate) fn plain(input: &'a mut dyn BufRead, delimiter: u8) -> Table<'a> {
        let (since, is_ended) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(true)));
        let bounded = Bounded { input, since: Rc::clone(&since), is_ended: Rc::clone(&is_ended) };
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(bounded);
        Table { reader, columns: Vec::new(), record: csv::ByteRecord::new(), since, is_ended }
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the place of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Returns the place of a column that a format must have.
    pub(crate) fn needed(&self, name: &str) -> Result<usize, String> {
        self.column(name).ok_or_else(|| {
            format!("it has no column `{name}`; columns here: {}", self.columns.join(", "))
        })
    }

    /// Reads the next record; returns false at the end.
    pub(crate) fn next(&mut self) -> Result<bool, String> {
        self.since.set(0);
        self.reader.read_byte_record(&mut self.record).map_err(|error| error.to_string())
    }

    /// Returns true if the record is the last one and its line has no end: it may be cut off. The record that
    /// follows is read.
    pub(crate) fn is_cut_off(&mut self) -> Result<bool, String> {
        Ok(!self.next()? && !self.is_ended.get())
    }

    /// Returns the line on which the record begins.
    pub(crate) fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    /// Returns a cell; empty if the record is too short.
    pub(crate) fn text(&self, column: usize) -> String {
        self.record.get(column).map(text).unwrap_or_default()
    }

    pub(crate) fn bytes(&self, column: usize) -> &[u8] {
        self.record.get(column).unwrap_or_default().trim_ascii()
    }

    /// Returns a cell that is a number.
    pub(crate) fn number(&self, column: usize) -> Option<f64> {
        let text = std::str::from_utf8(self.bytes(column)).ok()?;
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Returns true if the record has this column.
    pub(crate) fn reaches(&self, column: usize) -> bool {
        column < self.record.len()
    }

    pub(crate) fn width(&self) -> usize {
        self.record.len()
    }
}

fn text(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell.trim_ascii()).into_owned()
}

/// Returns the character that separates the cells of a line.
pub(crate) fn delimiter(line: &str) -> u8 {
    let of = |byte: &u8| line.bytes().filter(|other| other == byte).count();
    // The first of the most frequent ones.
    let best = [b',', b';', b'\t', b'|'].into_iter().rev().max_by_key(of);
    best.unwrap_or(b',')
}
