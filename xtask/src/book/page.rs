//! Tables in Markdown, and the places on a page where they are written.

#[cfg(test)]
mod tests;

const END: &str = "<!-- end -->";

/// Returns the page with `block` in the place of this name, without spaces at the ends of lines.
pub(crate) fn fill(page: &str, name: &str, block: &str) -> Result<String, String> {
    let begin = format!("<!-- measured: {name} -->\n");
    let missing = || format!("there is no `{}` with an `{END}` after it", begin.trim());
    let (before, rest) = page.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    let lines: Vec<&str> = block.trim_end().lines().map(str::trim_end).collect();
    Ok(format!("{before}{begin}\n{}\n\n{END}{after}", lines.join("\n")))
}

/// Returns a table. The first row is the heading; the first column has words, the others numbers.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let line = |cells: &Vec<String>| format!("| {} |\n", cells.join(" | "));
    let Some((heading, rows)) = rows.split_first() else { return String::new() };
    let rule: String = (1..heading.len()).map(|_| "---:|").collect();
    let rows: String = rows.iter().map(line).collect();
    format!("{}|---|{rule}\n{rows}", line(heading))
}

/// Returns the output of a program as a code block.
pub(super) fn quoted(text: &str) -> String {
    format!("```text\n{}\n```\n", text.trim_end())
}
