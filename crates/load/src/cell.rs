//! The cells of tables for spreadsheets, which may hold texts of others.

/// Returns what is to be written before a text so that no spreadsheet takes its cell for a formula: nothing before most.
pub fn guard(text: &str) -> &'static str {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" }
}
