//! The intervals of a load as rows, for spreadsheets and plots.

use std::fmt::Write;

use results::Load;

const HEADER: &str = "t_s,offered,sent,completed,failed,p50_ns,p90_ns,p99_ns,p999_ns,max_ns,\
                      outstanding,backlog,lateness_p99_ns,busy,length_s\n";

/// Returns the rows, of which the last may be a drain that is much longer than an interval. A figure that was not measured in an interval is an empty cell.
pub(super) fn of(load: &Load) -> String {
    let mut text = HEADER.to_owned();
    for i in &load.series {
        let cell = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let cells = [
            i.t_s.to_string(),
            i.offered.to_string(),
            i.sent.to_string(),
            i.completed.to_string(),
            i.failed.to_string(),
            cell(i.p50_ns),
            cell(i.p90_ns),
            cell(i.p99_ns),
            cell(i.p999_ns),
            cell(i.max_ns),
            cell(i.outstanding),
            cell(i.backlog),
            cell(i.lateness_p99_ns),
            i.busy.map_or(String::new(), |busy| format!("{busy:.4}")),
            i.length_s.to_string(),
        ];
        writeln!(text, "{}", cells.join(",")).expect("writing to memory does not fail");
    }
    text
}
