//! The report of an experiment with several levels, searches and repetitions.

use std::collections::BTreeSet;

use expect_test::expect;

use super::*;

/// Three levels × two searches × three repetitions.
fn levels() -> Fixture {
    let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
    fixture.unfinished_levels(&[1, 2, 4], 3);
    let answer = fixture.answer_of_levels(Verdict::Answered);
    fixture.directory.write_answer(&answer).unwrap();
    fixture
}

/// The markup of a figure.
pub(super) fn figure<'a>(page: &'a str, id: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<figure id=\"{id}\"")).expect(id);
    rest.split("</figure>").next().unwrap()
}

/// The titles and the markup of a figure's panels.
pub(super) fn panels(figure: &str) -> Vec<(&str, &str)> {
    let plots = figure.split("</div>\n<ul").next().unwrap();
    plots.split("<h4>").skip(1).map(|panel| panel.split_once("</h4>").unwrap()).collect()
}

/// The trials whose marks have a title.
pub(super) fn titled(panel: &str) -> BTreeSet<u32> {
    let titles = panel.split("<title>trial ").skip(1);
    titles.map(|rest| rest.split(':').next().unwrap().parse().unwrap()).collect()
}

/// The grid and the labels of each drawing of a panel.
fn axes(panel: &str) -> Vec<&str> {
    let drawings = panel.split("<path class=\"grid\"").skip(1);
    drawings.map(|drawing| drawing.split("<text class=\"name\"").next().unwrap()).collect()
}

/// Rows of a table, one line for each.
pub(super) fn rows(section: &str) -> String {
    let table = section.split("<table>").nth(1).unwrap().split("</table>").next().unwrap();
    let table = table.replace("<th class=\"words\"", "<th").replace("<td class=\"words\"", "<td");
    let lines = table.split("<tr").skip(1).map(|row| {
        let cells = row.split("<t").skip(1).map(|cell| {
            let words: Vec<&str> = cell.split('<').collect();
            let text = |part: &&str| part.split_once('>').map(|(_, text)| text.trim().to_owned());
            words.iter().filter_map(text).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
        });
        cells.collect::<Vec<_>>().join(" | ")
    });
    lines.map(|line| line + "\n").collect()
}

#[test]
fn a_sample_page_of_levels_is_written_on_request() {
    let page = page(&levels());
    assert!(page.len() <= 700_000, "{} bytes", page.len());
    if let Some(wanted) = std::env::var_os("REPORT_SAMPLE_LEVELS") {
        fs::write(wanted, page).unwrap();
    }
}

#[test]
fn the_verdict_is_a_table_of_levels_in_which_each_value_names_its_trial() {
    let page = page(&levels());
    let verdict = page.split("<section class=\"verdict").nth(1).unwrap();
    let verdict = verdict.split("</section>").next().unwrap();
    assert!(!verdict.contains("class=\"figure\""));
    assert!(words(&page).contains("18 of 18 searches have an answer"));
    expect![[r#"
         | maximum throughput | capacity
        level | search |  | median | least | most | of | median | least | most | of | 
        servers=1 | capacity | ✓ answered | 299 trial 55 | 299 trial 56 | 299 trial 57 | 3 | 293 trial 47 | 292 trial 46 | 294 trial 48 | 3
         | limited by: hotel, CPU 0.98 of 1 stopped by: slo_violated: the load above missed the SLO
        servers=1 | half | ✓ answered | 151 trial 23 | 151 trial 22 | 152 trial 24 | 3 | 151 trial 23 | 151 trial 22 | 152 trial 24 | 3
         | stopped by: 2 trials of one load
        servers=2 | capacity | ✓ answered | 598 trial 59 | 598 trial 58 | 599 trial 60 | 3 | 587 trial 50 | 584 trial 49 | 589 trial 51 | 3
         | limited by: hotel, CPU 0.98 of 1 stopped by: slo_violated: the load above missed the SLO
        servers=2 | half | ✓ answered | 302 trial 29 | 301 trial 28 | 304 trial 30 | 3 | 302 trial 29 | 301 trial 28 | 304 trial 30 | 3
         | stopped by: 2 trials of one load
        servers=4 | capacity | ✓ answered | 1,196 trial 63 | 1,194 trial 61 | 1,197 trial 62 | 3 | 1,173 trial 53 | 1,169 trial 52 | 1,178 trial 54 | 3
         | limited by: hotel, CPU 0.98 of 1 stopped by: slo_violated: the load above missed the SLO
        servers=4 | half | ✓ answered | 605 trial 35 | 602 trial 34 | 607 trial 36 | 3 | 605 trial 35 | 602 trial 34 | 607 trial 36 | 3
         | stopped by: 2 trials of one load
    "#]].assert_eq(&rows(verdict));
}

#[test]
fn the_overview_has_a_dot_and_a_row_for_each_search() {
    let page = page(&levels());
    let overview = figure(&page, "levels");
    // Each search found a maximum and a capacity, and each has its row.
    assert_eq!(overview.matches("<title>servers=").count(), 2 * 18);
    assert_eq!(overview.matches("<tr data-x=").count(), 18);
    // A line connects the medians of each search, both of the maxima and of the capacities.
    let plot = overview.split("<ul").next().unwrap();
    assert_eq!(plot.matches("<path class=\"line ").count(), 4);
    for level in ["servers=1", "servers=2", "servers=4"] {
        assert!(plot.contains(&format!(">{level}</text>")), "{level}");
    }
    expect![[r#"
        level | search | maximum throughput /s | at /s | trial | capacity /s | trial | stopped by | 
        servers=1 | capacity · 1 | 299 | 313 | 55 | 292 | 46 | slo_violated: the load above missed the SLO
        servers=1 | capacity · 2 | 299 | 314 | 56 | 293 | 47 | slo_violated: the load above missed the SLO
        servers=1 | capacity · 3 | 299 | 316 | 57 | 294 | 48 | slo_violated: the load above missed the SLO
        servers=1 | half · 1 | 151 | 151 | 22 | 151 | 22 | 2 trials of one load
        servers=1 | half · 2 | 151 | 151 | 23 | 151 | 23 | 2 trials of one load
        servers=1 | half · 3 | 152 | 152 | 24 | 152 | 24 | 2 trials of one load
        servers=2 | capacity · 1 | 598 | 626 | 58 | 584 | 49 | slo_violated: the load above missed the SLO
        servers=2 | capacity · 2 | 598 | 629 | 59 | 587 | 50 | slo_violated: the load above missed the SLO
        servers=2 | capacity · 3 | 599 | 631 | 60 | 589 | 51 | slo_violated: the load above missed the SLO
        servers=2 | half · 1 | 301 | 301 | 28 | 301 | 28 | 2 trials of one load
        servers=2 | half · 2 | 302 | 302 | 29 | 302 | 29 | 2 trials of one load
        servers=2 | half · 3 | 304 | 304 | 30 | 304 | 30 | 2 trials of one load
        servers=4 | capacity · 1 | 1,194 | 1,253 | 61 | 1,169 | 52 | slo_violated: the load above missed the SLO
        servers=4 | capacity · 2 | 1,197 | 1,258 | 62 | 1,173 | 53 | slo_violated: the load above missed the SLO
        servers=4 | capacity · 3 | 1,196 | 1,263 | 63 | 1,178 | 54 | slo_violated: the load above missed the SLO
        servers=4 | half · 1 | 602 | 602 | 34 | 602 | 34 | 2 trials of one load
        servers=4 | half · 2 | 605 | 605 | 35 | 605 | 35 | 2 trials of one load
        servers=4 | half · 3 | 607 | 607 | 36 | 607 | 36 | 2 trials of one load
    "#]].assert_eq(&rows(overview));
}

#[test]
fn the_interval_of_a_capacity_is_a_bar_and_has_columns() {
    let bars = |page: &str| figure(page, "levels").matches("<path class=\"bar ").count();
    let fixture = levels();
    assert_eq!(bars(&page(&fixture)), 0);
    let mut answer = fixture.answer_of_levels(Verdict::Answered);
    // Equal searches have theirs together, so it is one bar.
    answer
        .searches
        .iter_mut()
        .filter(|search| search.name.as_deref() == Some("capacity"))
        .for_each(|search| {
            search.interval = search.capacity.as_ref().map(|c| (0.9 * c.rate_per_s, 1e5))
        });
    fixture.directory.write_answer(&answer).unwrap();
    let page = page(&fixture);
    assert_eq!(bars(&page), 3);
    let overview = figure(&page, "levels");
    assert!(overview.contains("A bar is the 95 % interval of a capacity."));
    assert!(overview.contains(">100,000</text>"), "the axis has room for the bar");
    let first: Vec<String> = rows(overview).lines().take(2).map(str::to_owned).collect();
    expect![[r#"
        level | search | maximum throughput /s | at /s | trial | capacity /s | trial | 95 % from | to | stopped by | 
        servers=1 | capacity · 1 | 299 | 313 | 55 | 292 | 46 | 263 | 100,000 | slo_violated: the load above missed the SLO"#]].assert_eq(&first.join("\n"));
}

#[test]
fn no_panel_and_no_curve_mixes_levels() {
    let fixture = levels();
    let page = page(&fixture);
    for id in ["completed", "p99"] {
        let panels = panels(figure(&page, id));
        let titles: Vec<&str> = panels.iter().map(|(title, _)| *title).collect();
        assert_eq!(titles, ["servers=1", "servers=2", "servers=4"]);
        for (title, panel) in panels {
            let own = fixture.entries.iter().filter(|entry| entry.cell.as_deref() == Some(title));
            assert_eq!(titled(panel), own.map(|entry| entry.trial).collect(), "{id} {title}");
            // One line for each strand in each drawing; p99 has a logarithmic and a linear one.
            let drawings = if id == "p99" { 2 } else { 1 };
            assert_eq!(panel.matches("<path class=\"line c1 d0\"").count(), 3 * drawings);
        }
    }
}

#[test]
fn the_rules_of_a_panel_are_the_results_of_its_own_searches() {
    let fixture = levels();
    let page = page(&fixture);
    let answer = fixture.answer_of_levels(Verdict::Answered);
    for (title, panel) in panels(figure(&page, "completed")) {
        let own = answer.searches.iter().filter(|search| {
            search.cell.as_deref() == Some(title) && search.name.as_deref() == Some("capacity")
        });
        let mut found: Vec<f64> =
            own.map(|search| search.capacity.as_ref().unwrap().rate_per_s).collect();
        found.sort_by(f64::total_cmp);
        let (least, most) = (grouped(found[0]), grouped(found[found.len() - 1]));
        assert!(panel.contains(&format!(">capacity {least} … {most}/s</text>")), "{panel}");
        assert_eq!(panel.matches("<path class=\"rule\"").count(), 6, "three of each quantity");
    }
}

#[test]
fn all_panels_have_equal_axes() {
    let page = page(&levels());
    for (id, drawings) in [("completed", 1), ("p99", 2)] {
        let panels = panels(figure(&page, id));
        for (_, panel) in &panels {
            assert_eq!(axes(panel).len(), drawings);
            assert_eq!(axes(panel), axes(panels[0].1), "{id}");
        }
    }
}

#[test]
fn a_fixed_load_is_a_dot_in_the_panel_of_its_level_with_a_look_of_its_own() {
    let page = page(&levels());
    let completed = figure(&page, "completed");
    for (title, panel) in panels(completed) {
        // Two trials in each of three repetitions; the other search has five.
        assert_eq!(panel.matches("<path class=\"disc c5\"").count(), 6, "{title}");
        assert_eq!(panel.matches("<circle class=\"disc c1\"").count(), 15, "{title}");
    }
    assert!(completed.contains("</svg>half</span></li>"));
}

#[test]
fn one_trial_of_each_level_is_shown_in_full() {
    let fixture = levels();
    let page = page(&fixture);
    let answer = fixture.answer_of_levels(Verdict::Answered);
    for (number, level) in (1..).zip(["servers=1", "servers=2", "servers=4"]) {
        let capacities = answer.searches.iter().filter(|search| {
            search.cell.as_deref() == Some(level) && search.name.as_deref() == Some("capacity")
        });
        let mut capacities: Vec<_> = capacities.map(|s| s.capacity.as_ref().unwrap()).collect();
        capacities.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
        let median = capacities[1].trial;
        let seconds = figure(&page, &format!("seconds-{number}"));
        let title = format!("<h3>{level}, capacity: trial {median} by the second</h3>");
        assert!(seconds.contains(&title), "{title}");
        let percentiles = figure(&page, "percentiles");
        assert!(percentiles.contains(&format!("{level}, capacity, ")), "{level}");
        assert!(percentiles.contains(&format!("(trial {median})")), "{level}");
    }
}

#[test]
fn every_figure_of_levels_has_a_summary_and_a_table() {
    let page = page(&levels());
    let figures: Vec<&str> = page.split("<figure ").skip(1).collect();
    assert_eq!(
        figures.len(),
        12,
        "levels, completed, p99, percentiles, trials, monitors, and two of each of three trials"
    );
    for figure in figures {
        let figure = figure.split("</figure>").next().unwrap();
        assert!(figure.contains("role=\"img\" aria-label=\""));
        assert!(figure.contains("<p>") && figure.contains("<details"));
        assert!(4 <= figure.matches("<tr data-x=").count());
        assert!(figure.contains("<ul class=\"legend\">"));
        assert!(!figure.contains("NaN") && !figure.contains("inf"), "{figure}");
    }
}

#[test]
fn each_row_of_small_multiples_belongs_to_its_panel() {
    let fixture = levels();
    let page = page(&fixture);
    let (_, table) = figure(&page, "completed").split_once("<details").unwrap();
    for (panel, level) in ["servers=1", "servers=2", "servers=4"].into_iter().enumerate() {
        let own = table.split("<tr ").filter(|row| row.contains(&format!(" data-p=\"{panel}\"")));
        let own: Vec<&str> = own.collect();
        assert_eq!(own.len(), 21);
        assert!(own.iter().all(|row| row.contains(&format!(">{level}</td>"))), "{level}");
    }
}

#[test]
fn the_table_of_trials_names_level_and_search_only_if_there_are_several() {
    let words_of = |fixture: &Fixture| words(&page(fixture));
    assert!(words_of(&levels()).contains("trial  status  level  search  offered  p99"));
    assert!(words_of(&Fixture::sweep()).contains("trial  status  offered  p99"));

    let mut blocks = Fixture::new(|_| {});
    for strand in 1..=2 {
        blocks.push(2_400.0, |entry| (entry.strand, entry.block) = (Some(strand), Some(1)));
    }
    assert!(words_of(&blocks).contains("trial  status  search  offered  p99"));
}

#[test]
fn a_hundred_levels_have_a_bounded_page() {
    let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
    let servers: Vec<u32> = (1..=100).collect();
    fixture.unfinished_levels(&servers, 1);
    let answer = fixture.answer_of_levels(Verdict::Answered);
    fixture.directory.write_answer(&answer).unwrap();
    let page = page(&fixture);
    if let Some(wanted) = std::env::var_os("REPORT_SAMPLE_MANY_LEVELS") {
        fs::write(wanted, &page).unwrap();
    }
    for id in ["completed", "p99"] {
        let titles: Vec<&str> = panels(figure(&page, id)).iter().map(|(title, _)| *title).collect();
        assert_eq!(titles.len(), 24, "{id}");
        assert_eq!((titles[0], titles[23]), ("servers=1", "servers=100"));
    }
    let words = words(&page);
    assert!(words.contains(" 24 of 100 panels are drawn, evenly spaced; 76 are not."));
    assert!(words.contains(" 6 of 100 levels are shown."));
    assert!(words.contains("Levels are numbered in the order of the plan"));
    assert!(words.contains(" 7: servers=7 "));
    assert_eq!(page.matches("<figure id=\"seconds-").count(), 6);
    assert!(page.len() <= 2_000_000, "{} bytes", page.len());
}

#[test]
fn an_unfinished_experiment_shows_what_each_search_found_so_far() {
    let mut fixture = Fixture::new(|_| {});
    fixture.unfinished_levels(&[1, 2], 2);
    let so_far = fixture.answer_of_levels(Verdict::Open);
    let page = render(&fixture.directory, Some(so_far)).unwrap();
    let words = words(&page);
    assert!(words.contains("… Unfinished") && words.contains("is not a result"));
    assert!(words.contains("So far. Maximum throughput"));
    assert_eq!(words.matches(" … unfinished ").count(), 4, "a row for each level and search");
    assert_eq!(panels(figure(&page, "completed")).len(), 2);
}

#[test]
fn an_experiment_without_any_answer_still_shows_its_trials_by_level() {
    let mut fixture = Fixture::new(|_| {});
    fixture.unfinished_levels(&[1, 2], 2);
    let page = page(&fixture);
    let titles: Vec<&str> =
        panels(figure(&page, "completed")).iter().map(|(title, _)| *title).collect();
    assert_eq!(titles, ["servers=1", "servers=2"]);
    assert!(!page.contains("<figure id=\"levels\""), "nothing is known about the results");
    assert!(words(&page).contains(" capacity · 2 "));
}

#[test]
fn repeated_searches_without_factors_have_one_panel_without_a_title() {
    let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
    for load in [2_400.0, 3_000.0, 3_600.0] {
        for strand in 1..=3 {
            fixture.push(load + f64::from(strand), |entry| entry.strand = Some(strand));
        }
    }
    let answer = fixture.answer_of_levels(Verdict::Answered);
    fixture.directory.write_answer(&answer).unwrap();
    let page = page(&fixture);
    let completed = figure(&page, "completed");
    assert!(!completed.contains("<h4>"));
    assert_eq!(completed.matches("<path class=\"line c1 d0\"").count(), 3 + 1, "and its legend");
    assert!(page.contains("<h3>Maximum throughput and capacity of each search</h3>"));
    assert_eq!(figure(&page, "levels").matches("<tr data-x=").count(), 3);
}

#[test]
fn names_of_levels_and_searches_stay_text() {
    let mut fixture = Fixture::new(|_| {});
    for strand in 1..=4 {
        fixture.push(2_400.0 + f64::from(strand), |entry| {
            entry.strand = Some(strand);
            entry.cell = Some(format!("{HOSTILE}={}", strand % 2));
            entry.search = Some(HOSTILE.into());
        });
    }
    let mut answer = fixture.answer_of_levels(Verdict::NoAnswer);
    for search in &mut answer.searches {
        search.stopped_by = HOSTILE.into();
        search.limited_by = Some(HOSTILE.into());
    }
    fixture.directory.write_answer(&answer).unwrap();
    let page = page(&fixture);
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("<img") && !page.contains("onload='x'"));
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'));
    assert!(20 <= page.matches("&lt;script&gt;alert(1)").count());
}

#[test]
fn a_run_of_one_search_has_no_sign_of_levels() {
    let page = page(&Fixture::sweep());
    let body = page.split("</head>").nth(1).unwrap().split("<script>").next().unwrap();
    for sign in ["data-p=", "<h4>", "class=\"many\"", "id=\"levels\"", "<th class=\"words\">level"]
    {
        assert!(!body.contains(sign), "{sign}");
    }
    assert!(body.contains("<div class=\"figures\">"));
}
