//! Debian's wrk and `benchwright wrk`, in turn, on the same server with the same arguments.

use measure::quantity::grouped;
use report::drawing::{Axis, Drawing, Quantity, Series, Shape};
use results::Load;

use super::run::{self, Printed};
use super::{Measured, page};
use crate::bench::machine::{Machine, Server};
use crate::tools;

const ARGUMENTS: &str = "-t2 -c16 -d3s -L";
const TURNS: usize = 3;
const LEVELS: [f64; 4] = [0.5, 0.75, 0.9, 0.99];

pub(super) fn measure(machine: &Machine) -> Result<Measured, String> {
    let mut theirs: Vec<Printed> = Vec::new();
    let mut ours: Vec<(Printed, Load)> = Vec::new();
    let server = Server::start(machine, &["--delay", "exponential:1ms"])?;
    for _ in 0..TURNS {
        if tools::has_program("wrk") {
            theirs.push(run::wrk(machine, &server, ARGUMENTS, None)?);
        }
        let (output, load) = run::as_original(machine, &server, &format!("wrk {ARGUMENTS}"), None)?;
        ours.push((run::printed(&output)?, load));
    }
    let mut measured = Measured::default();
    let mut rows =
        vec![["", "completed", "50 %", "75 %", "90 %", "99 %", "max"].map(str::to_owned).to_vec()];
    rows.extend(theirs.iter().map(|printed| row("`wrk`", printed)));
    for (printed, load) in &ours {
        rows.push(row(&measured.named("`benchwright wrk`", load), printed));
    }
    let mut both = String::new();
    if let Some(theirs) = theirs.first() {
        both += &format!("Debian’s:\n\n{}\n", page::quoted(&theirs.text));
    }
    if let Some((printed, _)) = ours.first() {
        both += &format!("Ours:\n\n{}", page::quoted(&printed.text));
    }
    measured.blocks = vec![("turns", page::table(&rows)), ("both", both)];
    measured.drawings = vec![("porting-percentiles", drawing(&theirs, &ours))];
    Ok(measured)
}

fn row(name: &str, printed: &Printed) -> Vec<String> {
    let mut row = vec![name.to_owned(), format!("{}/s", grouped(printed.completed_per_s))];
    row.extend(LEVELS.map(|level| printed.at(level)));
    row.push(printed.max.to_string());
    row
}

fn drawing(theirs: &[Printed], ours: &[(Printed, Load)]) -> String {
    let marks = |name: &str, printed: Vec<&Printed>| {
        let points = printed.iter().flat_map(|p| p.percentiles.iter());
        let points = points.map(|(level, time)| (*level, time.0 as f64)).collect();
        Series { name: name.to_owned(), points, shape: Shape::Marks }
    };
    let mut series = Vec::new();
    if let Some((_, load)) = ours.first() {
        let service = run::histogram(load.total.service_time.as_ref());
        series.push(Series::distribution("as measured, without wrk’s filling", &service));
    }
    if !theirs.is_empty() {
        series.push(marks("wrk, as printed", theirs.iter().collect()));
    }
    series.push(marks("benchwright wrk, as printed", ours.iter().map(|(p, _)| p).collect()));
    Drawing {
        summary: "What wrk and benchwright print for the same load, and what was measured before \
                  wrk’s estimated samples were added."
            .to_owned(),
        x: Axis { label: "percentile of requests, %", quantity: Quantity::Level },
        y: Axis { label: "service time", quantity: Quantity::Time },
        series,
    }
    .svg()
}
