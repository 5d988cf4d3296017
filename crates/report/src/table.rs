//! Tables of figures; every text is escaped when it is written.

use std::fmt::Write;

use crate::text::escape;

pub(crate) mod between;
pub(crate) mod by_label;
pub(crate) mod components;
pub(crate) mod delivery;
pub(crate) mod found;
pub(crate) mod levels;
pub(crate) mod places;
pub(crate) mod raw;
pub(crate) mod trials;

/// The most rows of a table: with more, a chart's table shows every n-th.
pub(crate) const MOST_ROWS: usize = 300;

#[derive(Default)]
pub(crate) struct Table {
    caption: String,
    /// Headings over several columns, each with the number of columns.
    groups: Vec<(String, usize)>,
    columns: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Default)]
pub(crate) struct Row {
    cells: Vec<Cell>,
    class: &'static str,
    /// The row's position in the charts of its figure, for the cross-hair.
    x: Option<f64>,
    /// The number of the only panel that shows it; absent if all of them do.
    panel: Option<usize>,
    /// Sentences about the row, shown below it.
    notes: Vec<String>,
}

#[derive(Default)]
pub(crate) struct Cell {
    text: String,
    /// The reason why the figure is unreliable; it is then shown in grey.
    weak: Option<String>,
    words: bool,
    /// A detail below the text.
    detail: Option<String>,
    /// The plain figure, from which the cross-hair computes ratios.
    value: Option<f64>,
}

impl Table {
    pub(crate) fn new(caption: &str, columns: impl IntoIterator<Item: Into<String>>) -> Table {
        let columns = columns.into_iter().map(Into::into).collect();
        Table { caption: caption.to_owned(), columns, ..Table::default() }
    }

    pub(crate) fn grouped(self, groups: Vec<(String, usize)>) -> Table {
        Table { groups, ..self }
    }

    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    pub(crate) fn html(&self) -> String {
        let mut out = String::from("<div class=\"scroll\" tabindex=\"0\"><table>");
        self.write(&mut out).expect("writing to a string does not fail");
        out += "</table></div>";
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        if !self.caption.is_empty() {
            write!(out, "<caption>{}</caption>", escape(&self.caption))?;
        }
        out.push_str("<thead>");
        if !self.groups.is_empty() {
            out.push_str("<tr class=\"groups\">");
            for (name, width) in &self.groups {
                match name.as_str() {
                    "" => write!(out, "<td colspan=\"{width}\"></td>")?,
                    name => write!(
                        out,
                        "<th colspan=\"{width}\" scope=\"colgroup\">{}</th>",
                        escape(name)
                    )?,
                }
            }
            out.push_str("</tr>");
        }
        out.push_str("<tr>");
        for (index, column) in self.columns.iter().enumerate() {
            let class = if self.is_words(index) { " class=\"words\"" } else { "" };
            write!(out, "<th{class}>{}</th>", escape(column))?;
        }
        out.push_str("</tr></thead><tbody>\n");
        for row in &self.rows {
            row.write(self.columns.len(), out)?;
        }
        out.push_str("</tbody>");
        Ok(())
    }

    fn is_words(&self, column: usize) -> bool {
        self.rows.first().and_then(|row| row.cells.get(column)).is_some_and(|cell| cell.words)
    }
}

impl Row {
    pub(crate) fn new(cells: Vec<Cell>) -> Row {
        Row { cells, ..Row::default() }
    }

    pub(crate) fn at(self, x: f64) -> Row {
        Row { x: Some(x), ..self }
    }

    pub(crate) fn in_panel(self, panel: usize) -> Row {
        Row { panel: Some(panel), ..self }
    }

    pub(crate) fn class(self, class: &'static str) -> Row {
        Row { class, ..self }
    }

    pub(crate) fn notes(self, notes: Vec<String>) -> Row {
        Row { notes, ..self }
    }

    fn write(&self, columns: usize, out: &mut String) -> std::fmt::Result {
        out.push_str("<tr");
        if !self.class.is_empty() {
            write!(out, " class=\"{}\"", self.class)?;
        }
        if let Some(x) = self.x {
            write!(out, " data-x=\"{x:.1}\"")?;
        }
        if let Some(panel) = self.panel {
            write!(out, " data-p=\"{panel}\"")?;
        }
        out.push('>');
        for cell in &self.cells {
            cell.write(out)?;
        }
        out.push_str("</tr>\n");
        if !self.notes.is_empty() {
            write!(out, "<tr class=\"notes\"><td></td><td colspan=\"{}\">", columns - 1)?;
            for note in &self.notes {
                write!(out, "<p>{}</p>", escape(note))?;
            }
            out.push_str("</td></tr>\n");
        }
        Ok(())
    }
}

impl Cell {
    pub(crate) fn number(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    pub(crate) fn words(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), words: true, ..Cell::default() }
    }

    /// A number that may be missing: a dash if it was not measured, never a zero.
    pub(crate) fn maybe(text: Option<String>) -> Cell {
        Cell::number(text.unwrap_or_else(|| "–".to_owned()))
    }

    pub(crate) fn text(self, text: String) -> Cell {
        Cell { text, ..self }
    }

    pub(crate) fn value(self, value: f64) -> Cell {
        Cell { value: Some(value), ..self }
    }

    pub(crate) fn detail(self, detail: Option<String>) -> Cell {
        Cell { detail, ..self }
    }

    pub(crate) fn weak(self, why: Option<String>) -> Cell {
        Cell { weak: why, ..self }
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let class = match (self.words, &self.weak) {
            (true, _) => " class=\"words\"",
            (false, Some(_)) => " class=\"weak\"",
            (false, None) => "",
        };
        write!(out, "<td{class}")?;
        if let Some(value) = self.value {
            write!(out, " data-v=\"{value}\"")?;
        }
        write!(out, ">{}", escape(&self.text))?;
        if let Some(small) = self.weak.as_ref().or(self.detail.as_ref()) {
            write!(out, "<small>{}</small>", escape(small))?;
        }
        out.push_str("</td>");
        Ok(())
    }
}
