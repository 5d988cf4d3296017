//! A text on a terminal, as a drawing: a rectangle, and a line of letters of one width for each line.

use std::fmt::Write;

/// The width of a letter and the height of a line, in pixels.
const LETTER: f64 = 7.8;
const LINE: f64 = 18.0;
/// The distance of the text from the edges.
const MARGIN: f64 = 16.0;

const BACKGROUND: &str = "#1d2126";
const TEXT: &str = "#d5dae0";
/// The colour of the command.
const TYPED: &str = "#8fd18f";

/// Returns the drawing. Every line gets its width by its number of letters, so that columns stand below each other in
/// any font.
pub(super) fn svg(text: &str) -> String {
    let columns = text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    let width = (columns as f64 * LETTER + 2.0 * MARGIN).ceil();
    let height = (text.lines().count() as f64 * LINE + 2.0 * MARGIN).ceil();
    let mut drawing = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\">\n\
         <title>A terminal with a run of Benchwright</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"13\" fill=\"{TEXT}\" style=\"white-space: pre\">\n"
    );
    for (index, line) in text.lines().enumerate() {
        // A renderer may leave out spaces at the beginning, so the line begins behind them.
        let begin = line.len() - line.trim_start().len();
        let letters = line.trim().chars().count();
        if letters == 0 {
            continue;
        }
        let x = MARGIN + begin as f64 * LETTER;
        let y = MARGIN + (index as f64 + 0.72) * LINE;
        let length = letters as f64 * LETTER;
        let colour =
            if line.starts_with("$ ") { format!(" fill=\"{TYPED}\"") } else { String::new() };
        writeln!(
            drawing,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" xml:space=\"preserve\"{colour}>{}</text>",
            escaped(line.trim())
        )
        .expect("writing to a string does not fail");
    }
    drawing + "</g>\n</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
