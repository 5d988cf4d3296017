//! The comparison of two arms: the effect of each metric with its interval, beside the margin of what
//! matters, and the percentiles that show where a difference lies.

use measure::estimate::CONFIDENCE;
use measure::quantity::probability;
use results::Found;
use results::comparison::{Compared, Comparison, Of, Verdict};
use results::metric::Metric;

use super::labels::{self, Labels};
use super::{Figure, Key, Layout, Panel};
use crate::plot::{Anchor, Axis, Dash, Mark, Plot, Scale, Style};
use crate::run::Run;
use crate::table::{Cell, MOST_ROWS, Row, Table};
use crate::text::{count, integer, tick_number};

const MARGIN: Style = Style { series: 10, colour: 0, dash: Dash::None, mark: Mark::None };
const PERCENTILE: Style = Style { series: 4, colour: 0, dash: Dash::None, mark: Mark::Diamond };

/// The most effects that are drawn.
const MOST_DRAWN: usize = 40;

/// The most differences of the environment in the summary.
const MOST_DIFFERENCES: usize = 3;

/// A metric or a percentile of both arms.
struct Effect<'a> {
    metric: Metric,
    of: &'a Of,
    /// The judgement; absent for a percentile that decides nothing.
    compared: Option<&'a Compared>,
    effect: Option<f64>,
    interval: Option<(f64, f64)>,
    p: Option<f64>,
}

pub(crate) fn figure(run: &Run) -> Option<Figure> {
    let comparison = run.answer.as_ref()?.comparison.as_ref()?;
    let (by_label, of_all): (Vec<Effect>, Vec<Effect>) =
        percentiles(comparison).into_iter().partition(|effect| effect.of.label.is_some());
    let mut groups = vec![
        ("metrics".to_owned(), metrics(comparison)),
        ("percentiles, which decide nothing".to_owned(), of_all),
    ];
    for effect in by_label {
        let title = format!("{} by label, which decides nothing", effect.metric);
        match groups.iter_mut().find(|(known, _)| *known == title) {
            Some((_, effects)) => effects.push(effect),
            None => groups.push((title, vec![effect])),
        }
    }
    let (titles, groups): (Vec<String>, Vec<Vec<Effect>>) =
        groups.into_iter().filter(|(_, effects)| !effects.is_empty()).unzip();
    groups.first()?;
    let summary = summary(comparison, groups.iter().map(|effects| left_out(effects)).sum());
    let plots: Vec<Plot> =
        groups.iter().map(|effects| draw(comparison, effects, &summary)).collect();
    let panel =
        |(title, plot): (String, &Plot)| Panel { title, svg: plot.svg(), ..Panel::default() };
    Some(Figure {
        id: "comparison".into(),
        title: format!("{} compared with {}", comparison.b, comparison.a),
        table: table(comparison, &groups, &plots),
        panels: titles.into_iter().zip(&plots).map(panel).collect(),
        keys: keys(groups.iter().flatten()),
        summary,
        layout: Layout::Many,
    })
}

fn metrics(comparison: &Comparison) -> Vec<Effect<'_>> {
    let effects = comparison.metrics.iter().map(|compared| Effect {
        metric: compared.metric,
        of: &compared.of,
        compared: Some(compared),
        effect: compared.effect,
        interval: compared.interval,
        p: compared.p,
    });
    effects.collect()
}

fn percentiles(comparison: &Comparison) -> Vec<Effect<'_>> {
    let effects = comparison.percentiles.iter().map(|shift| Effect {
        metric: shift.metric,
        of: &shift.of,
        compared: None,
        effect: Some(shift.effect),
        interval: shift.interval,
        p: Some(shift.p),
    });
    effects.collect()
}

/// Returns the number of effects that have no place in the plot.
fn left_out(effects: &[Effect]) -> usize {
    let unknown = effects.iter().take(MOST_DRAWN).filter(|effect| effect.effect.is_none()).count();
    effects.len().saturating_sub(MOST_DRAWN) + unknown
}

impl Effect<'_> {
    /// `p99`, `replicas=2 · half · login · p99`
    fn name(&self) -> String {
        self.named(true)
    }

    /// Returns the name in a plot, where the title has the percentile of labels.
    fn place(&self) -> String {
        self.named(self.compared.is_some() || self.of.label.is_none())
    }

    fn named(&self, has_metric: bool) -> String {
        let Of { cell, search, label } = self.of;
        let metric = has_metric.then(|| self.metric.name().replace('_', " "));
        let parts = [cell, search, label, &metric];
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" · ")
    }

    fn verdict(&self) -> Option<Verdict> {
        self.compared.map(|compared| compared.verdict)
    }

    fn style(&self) -> Style {
        self.verdict().map_or(PERCENTILE, style)
    }
}

fn style(verdict: Verdict) -> Style {
    let (series, colour, mark) = match verdict {
        Verdict::Better => (0, 3, Mark::Disc),
        Verdict::Worse => (1, 2, Mark::Cross),
        Verdict::Equivalent => (2, 1, Mark::Square),
        Verdict::Undecided => (3, 4, Mark::Ring),
    };
    Style { series, colour, dash: Dash::None, mark }
}

fn symbol(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "✓",
        Verdict::Worse => "✗",
        Verdict::Equivalent => "=",
        Verdict::Undecided => "?",
    }
}

/// A scale for these effects with their intervals, 1, and the margin. Far percentiles are less certain: on
/// the scale of the metrics that decide, they would hide them.
fn scale(comparison: &Comparison, effects: &[&Effect]) -> Scale {
    let ends = effects.iter().flat_map(|effect| {
        let (low, high) = effect.interval.unzip();
        [effect.effect, low, high]
    });
    let margin = 1.0 + comparison.margin;
    let ends = ends.flatten().chain([margin, 1.0 / margin]);
    let (low, high) = ends
        .fold((0.99, 1.01_f64), |(low, high), ratio| (f64::min(low, ratio), f64::max(high, ratio)));
    let room = 0.15 * (high - low);
    Scale::Linear { from: (low - room).max(0.0), to: high + room }
}

fn draw(comparison: &Comparison, effects: &[Effect], summary: &str) -> Plot {
    let effects: Vec<&Effect> = effects.iter().take(MOST_DRAWN).collect();
    let margin = 1.0 + comparison.margin;
    let x = Axis { scale: Scale::Places { count: effects.len() }, label: "", tick: tick_number };
    let scale = scale(comparison, &effects);
    let y = Axis { scale, label: "figure of the second over that of the first", tick: tick_number };
    let mut plot = Plot::new(summary, 340.0, x, y);
    let names: Vec<String> = effects.iter().map(|effect| effect.place()).collect();
    labels::write(&mut plot, Labels::of(names.iter().map(String::as_str)), &names);
    let end = effects.len() as f64;
    plot.area(MARGIN, &[(-0.5, 1.0 / margin, margin), (end, 1.0 / margin, margin)]);
    plot.rule_y(1.0);
    for (index, effect) in effects.iter().enumerate() {
        let Some(ratio) = effect.effect else { continue };
        let x = index as f64;
        if let Some((low, high)) = effect.interval {
            plot.bar(effect.style(), x, low, high);
        }
        let title = format!("{}: {}", names[index], change(ratio));
        plot.mark(effect.style(), x, ratio, &title);
        if let Some(verdict) = effect.verdict() {
            let above = effect.interval.map_or(ratio, |(_, high)| high);
            plot.label((x, above), (0.0, -7.0), Anchor::Middle, verdict.word());
        }
    }
    plot
}

fn keys<'a>(effects: impl Iterator<Item = &'a Effect<'a>>) -> Vec<Key> {
    let seen: Vec<Option<Verdict>> = effects.map(Effect::verdict).collect();
    let verdicts =
        [Verdict::Better, Verdict::Worse, Verdict::Equivalent, Verdict::Undecided].into_iter();
    let known = verdicts.filter(|one| seen.contains(&Some(*one)));
    let mut keys: Vec<Key> = known.map(|one| (style(one), one.word().to_owned())).collect();
    if seen.contains(&None) {
        keys.push((PERCENTILE, "percentile".to_owned()));
    }
    keys
}

fn summary(comparison: &Comparison, missing: usize) -> String {
    let Comparison { a, b, verdict, margin, .. } = comparison;
    let said = match verdict {
        Verdict::Better | Verdict::Worse => format!("{b} is {} than {a}", verdict.word()),
        Verdict::Equivalent => format!("{b} and {a} are equivalent"),
        Verdict::Undecided => format!("The comparison of {b} with {a} is undecided"),
    };
    let mut text = format!(
        "{said}. Each effect is the figure of {b} over that of {a}, with its interval; the band is the \
         margin of {:.1} %.",
        100.0 * margin
    );
    if comparison.metrics.iter().any(|compared| !compared.interleaved) {
        text += " ! The trials of both do not alternate: a drift of the machine looks like a difference.";
    }
    let differences = comparison.metrics.first().map(|compared| &compared.environment_differences);
    let differences = differences.into_iter().flatten().map(|difference| difference.what.as_str());
    let differences: Vec<&str> = differences.collect();
    if !differences.is_empty() {
        let first = differences.iter().take(MOST_DIFFERENCES).copied().collect::<Vec<_>>();
        text += &format!(" ! Not the same for both: {}", first.join(", "));
        let more = differences.len() - first.len();
        text += &if 0 < more { format!(" and {more} more.") } else { ".".to_owned() };
    }
    if comparison.metrics.iter().any(|compared| 0 < compared.censored_a + compared.censored_b) {
        text += " ! Searches found only a bound: a verdict holds whatever they would have found.";
    }
    if 0 < missing {
        // For example with too few trials.
        text += &format!(
            " {} without an effect, or beyond the plot: see the numbers.",
            count(missing, "metric")
        );
    }
    text
}

/// `+6.1 %`
fn change(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

fn table(comparison: &Comparison, groups: &[Vec<Effect>], plots: &[Plot]) -> Table {
    let columns =
        ["metric", "verdict", "effect", "from", "to", "confidence", "p"].map(str::to_owned);
    let medians = [&comparison.a, &comparison.b].map(|arm| format!("median of {arm}"));
    let after = ["trials", "blocks", "more blocks needed"].map(str::to_owned);
    let is_adjusted = comparison.metrics.iter().any(|compared| compared.adjusted.is_some());
    let speed = is_adjusted.then(|| "at equal machine speed".to_owned());
    let columns = columns.into_iter().chain(speed).chain(medians).chain(after);
    let mut table = Table::new("", columns);
    let most = MOST_ROWS / groups.len();
    for (panel, (effects, plot)) in groups.iter().zip(plots).enumerate() {
        let names: Vec<String> = effects.iter().take(MOST_DRAWN).map(Effect::place).collect();
        let labels = Labels::of(names.iter().map(String::as_str));
        for (index, effect) in effects.iter().take(most).enumerate() {
            let name = effect.name();
            let name = if index < MOST_DRAWN { labels.in_table(index, &name) } else { name };
            let row = Row::new(cells(effect, name, is_adjusted));
            table.push(match index < MOST_DRAWN {
                true => row.at(plot.x(index as f64)).in_panel(panel),
                false => row,
            });
        }
    }
    table
}

/// Returns `10 / 10`, or `10 / 10 (4 / 0 bounds)` if searches found only a bound.
fn counts(compared: &Compared) -> String {
    let Compared { trials_a, trials_b, censored_a, censored_b, .. } = compared;
    let bounds = match censored_a + censored_b {
        0 => String::new(),
        _ => format!(" ({censored_a} / {censored_b} bounds)"),
    };
    format!("{trials_a} / {trials_b}{bounds}")
}

fn cells(effect: &Effect, name: String, is_adjusted: bool) -> Vec<Cell> {
    let compared = effect.compared;
    let (low, high) = effect.interval.unzip();
    let verdict = effect.verdict().map(|one| format!("{} {}", symbol(one), one.word()));
    let median = |of: fn(&Compared) -> Option<Found>| {
        let found = compared.and_then(of);
        Cell::maybe(found.map(|found| found.in_words(|value| effect.metric.written(value))))
    };
    let adjusted = compared.and_then(|compared| compared.adjusted).map(|adjusted| {
        let effect = change(adjusted.effect);
        let Some((low, high)) = adjusted.interval else { return effect };
        format!("{effect} ({} … {})", change(low), change(high))
    });
    let adjusted = is_adjusted.then(|| Cell::maybe(adjusted));
    let bounds = compared.and_then(|compared| compared.effect_bounds);
    let known = effect.effect.map(Found::Exact).or(bounds);
    let first = vec![
        Cell::words(name),
        Cell::words(verdict.unwrap_or_default()),
        Cell::maybe(known.map(|known| known.in_words(change))),
        Cell::maybe(low.map(change)),
        Cell::maybe(high.map(change)),
        Cell::number(format!("{:.1} %", 100.0 * compared.map_or(CONFIDENCE, |c| c.confidence))),
        Cell::maybe(effect.p.map(probability)),
    ];
    let last = vec![
        median(|compared| compared.median_a),
        median(|compared| compared.median_b),
        Cell::maybe(compared.map(counts)),
        Cell::maybe(compared.map(|c| integer(c.blocks as u64))),
        Cell::maybe(compared.and_then(|c| c.more_blocks_needed).map(|n| n.to_string())),
    ];
    first.into_iter().chain(adjusted).chain(last).collect()
}
