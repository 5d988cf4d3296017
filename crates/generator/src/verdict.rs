//! The exit code of a load.

use console::output::Exit;
use results::evidence::Evidence;
use results::failing;
use results::slo;

/// Returns the exit code of a load: no if it missed its SLO, or if its service fails, whatever the loop. A load that
/// is not valid may still answer that.
pub(crate) fn exit(load: &results::Load) -> Exit {
    match load.evidence() {
        (Evidence::Nothing, _) => Exit::NoAnswer,
        (Evidence::Whole | Evidence::Answer, _) => match &load.slo {
            Some(slo) if !slo.met => Exit::No,
            _ if failing::is_missed(load, judged(load)) => Exit::No,
            Some(_) | None => Exit::Answered,
        },
    }
}

pub(crate) fn judged(load: &results::Load) -> &[slo::Judged] {
    load.slo.as_ref().map_or(&[], |slo| &slo.objectives)
}
