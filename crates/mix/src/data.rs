//! A table of data: comma-separated values with a header line (RFC 4180), kept in memory.

use std::collections::HashSet;

use crate::error::Error;

#[cfg(test)]
mod tests;

/// The maximum size of a file: all rows are kept in memory, with four more bytes for each cell and
/// row.
pub const MOST_DATA_BYTES: u64 = 1 << 30;

/// A table with rows of cells under named columns. Any cell may be quoted; a quoted one may contain
/// commas, line breaks and doubled quotes. Lines end with CRLF or LF; empty ones are skipped.
#[derive(Clone, Debug)]
pub struct Data {
    file: String,
    columns: Vec<String>,
    /// The text of all cells, row by row, without separators.
    cells: String,
    /// The end of each cell.
    ends: Vec<u32>,
    /// The number of the line on which each row begins.
    lines: Vec<u32>,
}

impl Data {
    /// Reads a table; `file` is the name in error messages.
    pub fn read(file: &str, text: &str) -> Result<Data, Error> {
        Data::read_up_to(MOST_DATA_BYTES, file, text)
    }

    fn read_up_to(most: u64, file: &str, text: &str) -> Result<Data, Error> {
        if most < text.len() as u64 {
            let what = format!("is longer than {most} bytes, the maximum that is kept in memory");
            return Err(Error::new(file, (1, ""), 0, what + "; use fewer rows or columns"));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = Reader { file, text, at: 0, line: 1, cells: String::new(), ends: vec![] };
        let columns = reader.columns()?;
        reader.cells.reserve(text.len() - reader.at);
        let mut lines = Vec::new();
        while let Some(begin) = reader.record(Some(columns.len()))? {
            lines.push(begin);
        }
        if lines.is_empty() {
            return Err(
                reader.error(text.len(), "the rows are missing; write some below the header")
            );
        }
        let Reader { cells, ends, .. } = reader;
        Ok(Data { file: file.to_owned(), columns, cells, ends, lines })
    }

    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    pub fn rows(&self) -> usize {
        self.lines.len()
    }

    /// Returns the row for an arrival: rows are used in turn.
    pub(crate) fn row_of(&self, number: u64) -> usize {
        (number % self.rows() as u64) as usize
    }

    pub(crate) fn cell(&self, row: usize, column: usize) -> &str {
        let index = row * self.columns.len() + column;
        let begin = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.cells[begin as usize..self.ends[index] as usize]
    }

    /// Returns the location of the first cell of the column that is invalid.
    pub(crate) fn find(&self, column: usize, is_bad: impl Fn(&str) -> bool) -> Option<String> {
        let row = (0..self.rows()).find(|&row| is_bad(self.cell(row, column)))?;
        Some(format!("{}:{}", self.file, self.lines[row]))
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    at: usize,
    /// The line number of `at`, counting completely read records.
    line: u32,
    cells: String,
    ends: Vec<u32>,
}

impl Reader<'_> {
    fn columns(&mut self) -> Result<Vec<String>, Error> {
        self.record(None)?;
        let mut columns: Vec<String> = Vec::new();
        let mut known = HashSet::new();
        let mut begin = 0;
        for end in std::mem::take(&mut self.ends) {
            let name = &self.cells[begin..end as usize];
            let what = match name {
                "" => "a column has no name; name each in the first line, such as `id,name`".into(),
                _ if !known.insert(name) => {
                    format!("two columns are named `{name}`; name each differently")
                }
                _ => {
                    columns.push(name.to_owned());
                    begin = end as usize;
                    continue;
                }
            };
            return Err(self.error(0, what));
        }
        if columns.is_empty() {
            return Err(self.error(0, "the header is missing; name the columns in the first line"));
        }
        self.cells.clear();
        Ok(columns)
    }

    /// Reads the next record, and returns the number of the line on which it begins.
    fn record(&mut self, cells: Option<usize>) -> Result<Option<u32>, Error> {
        while self.take("\n") || self.take("\r\n") {
            self.line += 1;
        }
        if self.at == self.text.len() {
            return Ok(None);
        }
        let (line, begin, known) = (self.line, self.at, self.ends.len());
        loop {
            self.cell()?;
            self.ends.push(self.cells.len() as u32);
            if !self.take(",") {
                break;
            }
        }
        let _ = self.take("\r\n") || self.take("\n");
        let breaks = self.text.as_bytes()[begin..self.at].iter().filter(|&&byte| byte == b'\n');
        self.line += breaks.count() as u32;
        let found = self.ends.len() - known;
        if let Some(cells) = cells.filter(|&cells| cells != found) {
            let what = format!(
                "cells in this row: {found}, columns in the header: {cells}; put a cell with a \
                 comma in quotes",
            );
            return Err(self.error(begin, what));
        }
        Ok(Some(line))
    }

    /// Reads one cell, up to the comma or the line's end.
    fn cell(&mut self) -> Result<(), Error> {
        let begin = self.at;
        if !self.take("\"") {
            let rest = &self.text[begin..];
            let length = rest.find([',', '\n', '"']).unwrap_or(rest.len());
            if rest[length..].starts_with('"') {
                let what = "a quote inside a cell; put the cell in quotes and double this one";
                return Err(self.error(begin + length, what));
            }
            let ends_line = !rest[length..].starts_with(',');
            let cell = &rest[..length];
            let cell = if ends_line { cell.strip_suffix('\r').unwrap_or(cell) } else { cell };
            self.cells.push_str(cell);
            self.at += cell.len();
            // A carriage return without a line feed at the very end also ends the line.
            let _ = self.at + 1 == self.text.len() && self.take("\r");
            return Ok(());
        }
        loop {
            let rest = &self.text[self.at..];
            let Some(length) = rest.find('"') else {
                return Err(
                    self.error(begin, "this quote is not closed; end the cell with another")
                );
            };
            self.cells.push_str(&rest[..length]);
            self.at += length + 1;
            if !self.take("\"") {
                break;
            }
            self.cells.push('"');
        }
        let rest = &self.text[self.at..];
        if rest.is_empty() || [",", "\n", "\r\n"].iter().any(|end| rest.starts_with(end)) {
            return Ok(());
        }
        let what = "text after a closing quote; write a quote inside a quoted cell twice";
        Err(self.error(self.at, what))
    }

    fn take(&mut self, token: &str) -> bool {
        let is_next = self.text[self.at..].starts_with(token);
        self.at += if is_next { token.len() } else { 0 };
        is_next
    }

    fn error(&self, at: usize, what: impl Into<String>) -> Error {
        Error::new(self.file, (1, self.text), at, what)
    }
}
