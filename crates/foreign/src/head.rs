//! The beginning of a file, by which its format is recognised.

use crate::table::delimiter;

/// As much of a file is looked at.
pub(crate) const LENGTH: usize = 64 << 10;

/// The most keys of an object that are looked at.
const MOST_KEYS: usize = 200;

pub(crate) struct Head {
    bytes: Vec<u8>,
    text: String,
    /// The keys of the first JSON object, if the file begins with one.
    keys: Vec<String>,
    /// The bytes before the contents: a mark of the encoding.
    pub(crate) begin: usize,
}

impl Head {
    pub(crate) fn of(bytes: &[u8]) -> Head {
        let begin = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let bytes = &bytes[begin..bytes.len()];
        let text = String::from_utf8_lossy(bytes).into_owned();
        Head { keys: keys(bytes), bytes: bytes.to_vec(), text, begin }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the first line that is not empty.
    pub(crate) fn first_line(&self) -> &str {
        self.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    }

    /// Returns the first line that is neither empty nor a comment.
    pub(crate) fn first_row(&self) -> &str {
        let rows = self.text.lines().map(str::trim);
        rows.filter(|line| !line.starts_with('#')).find(|line| !line.is_empty()).unwrap_or_default()
    }

    /// Returns true if the file begins with a JSON object that has all these keys.
    pub(crate) fn has_keys(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.keys.iter().any(|known| known == key))
    }

    /// Returns true if the first line is a header of a table that has all these columns.
    pub(crate) fn has_columns(&self, columns: &[&str]) -> bool {
        let names: Vec<&str> = self
            .first_line()
            .split([',', ';', '\t', '|'])
            .map(|name| name.trim().trim_matches('"'))
            .collect();
        columns.iter().all(|column| names.contains(column))
    }

    /// Returns the reason why a file of a known kind cannot be read, with the remedy.
    pub(crate) fn refused(&self) -> Option<String> {
        let bytes = &*self.bytes;
        let has = |word: &str| bytes.windows(word.len()).any(|window| window == word.as_bytes());
        let reason = if bytes.iter().all(u8::is_ascii_whitespace) {
            "it is empty"
        } else if bytes.starts_with(b"\x1f\x8b") {
            "it is compressed: write `gunzip -c FILE | benchwright analyse /dev/stdin`"
        } else if bytes.starts_with(b"\x28\xb5\x2f\xfd") {
            "it is compressed: write `zstd -dc FILE | benchwright analyse /dev/stdin`"
        } else if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            "it is UTF-16: write `iconv -f UTF-16 -t UTF-8 FILE | benchwright analyse /dev/stdin`"
        } else if bytes.contains(&0) && ["Attack", "Seq", "Latency"].into_iter().all(has) {
            "it is vegeta's binary format: write `vegeta encode FILE | benchwright analyse /dev/stdin`"
        } else if is_binary_of_gatling(bytes) {
            "it is the binary log that Gatling writes from 3.13 on: turn it into a CSV file with a line for \
             each request, and add --rows requests --column NAME --unit ms"
        } else if self.first_line().starts_with('<') && has("<testResults") {
            "it is JMeter's XML: run JMeter with -Jjmeter.save.saveservice.output_format=csv"
        } else if self.first_line().starts_with('<') {
            "it is a page or XML, not a file of figures; take the tool's JSON or CSV"
        } else if bytes.contains(&0) {
            "it is binary; take the tool's JSON, CSV or text"
        } else {
            return None;
        };
        Some(reason.to_owned())
    }

    /// Returns the tool and the remedy for a text that a tool prints for people, and of which another form is read.
    pub(crate) fn for_people(&self) -> Option<&'static str> {
        let has = |words: &[&str]| words.iter().all(|word| self.text.contains(word));
        let first = self.first_line();
        let is_summary = has(&["Summary:", "Requests/sec:"]);
        let remedy = if first.starts_with("Requests") && has(&["[total, rate", "Latencies"])
            || first.starts_with("Bucket") && has(&["Histogram"])
        {
            "it is vegeta's report as text: write `vegeta report -type=json`, or `vegeta encode` for each request"
        } else if is_summary && has(&["Success rate:"]) {
            "it is oha's text: run oha with `--output-format json`"
        } else if is_summary && has(&["Count:", "Fastest:"]) {
            "it is ghz's text: run ghz with `--format json`"
        } else if has(&["http_req_duration", "avg=", "http_reqs"]) {
            "it is k6's text: run k6 with `--summary-export=FILE`, or with `--out json=FILE` for each request"
        } else if first.starts_with("metric_name,timestamp,metric_value") {
            "it is k6's CSV, which has all metrics in one column: run k6 with `--out json=FILE`"
        } else if has(&["Fortio ", "# target "]) {
            "it is fortio's text: run fortio with `-json FILE`"
        } else if has(&["summary =", "Avg:", "Err:"]) {
            "it is JMeter's text: read the file of its option `-l`"
        } else if is_nameless_of_jmeter(first) {
            "it is JMeter's table without the names of its columns: run JMeter with \
             -Jjmeter.save.saveservice.print_field_names=true, or write the names as a first line: \
             timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,…"
        } else {
            return None;
        };
        Some(remedy)
    }
}

/// Returns true for a row such as `1764000000000,21,home,200,OK,users 1-1,text,true,512`: a moment in milliseconds, a
/// time and a success.
fn is_nameless_of_jmeter(line: &str) -> bool {
    let cells: Vec<&str> = line.split(char::from(delimiter(line))).map(str::trim).collect();
    let is_number = |cell: &str| cell.bytes().all(|byte| byte.is_ascii_digit());
    let is_success = |cell: &&str| matches!(*cell, "true" | "false");
    match cells[..] {
        [at, elapsed, ref rest @ ..] => {
            at.len() == 13
                && is_number(at)
                && (1..10).contains(&elapsed.len())
                && is_number(elapsed)
                && rest.iter().any(is_success)
        }
        _ => false,
    }
}

/// It begins with a record of type 0, whose first field is the version.
fn is_binary_of_gatling(bytes: &[u8]) -> bool {
    let [0, length @ ..] = bytes else { return false };
    let Some((length, version)) = length.split_first_chunk::<4>() else { return false };
    let length = u32::from_be_bytes(*length) as usize;
    let Some(version) = version.get(..length) else { return false };
    (3..20).contains(&length)
        && version.first().is_some_and(u8::is_ascii_digit)
        && version.contains(&b'.')
}

/// Returns the keys of the object with which a text begins, as far as it goes. What is inside strings and
/// deeper objects does not count.
fn keys(bytes: &[u8]) -> Vec<String> {
    let mut keys = Vec::new();
    let mut depth = 0_usize;
    let mut at = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(bytes.len());
    if bytes.get(at) != Some(&b'{') {
        return keys;
    }
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => break,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let begin = at;
                at = end_of_string(bytes, begin);
                let is_key = || {
                    let behind = bytes.get(at + 1..).unwrap_or_default();
                    behind.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
                };
                if depth == 1 && is_key() && keys.len() < MOST_KEYS {
                    keys.push(String::from_utf8_lossy(&bytes[begin..at]).into_owned());
                }
                at += 1;
            }
            _ => {}
        }
    }
    keys
}

/// Returns the place of the quotation mark that ends a string.
fn end_of_string(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
