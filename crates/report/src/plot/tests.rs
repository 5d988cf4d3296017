use expect_test::{Expect, expect};

use super::*;
use crate::text::tick_number;

fn plot() -> Plot {
    let axis =
        |label| Axis { scale: Scale::Linear { from: 0.0, to: 10.0 }, label, tick: tick_number };
    Plot::new("ten by <ten>", 172.0, axis("across"), axis("up"))
}

const LINE: Style = Style { series: 3, colour: 1, dash: Dash::Dashed, mark: Mark::Disc };

fn check(draw: impl FnOnce(&mut Plot), expected: Expect) {
    let mut plot = plot();
    draw(&mut plot);
    expected.assert_eq(&plot.marks.replace("><", ">\n<"));
}

#[test]
fn a_line_ends_at_the_corners_of_the_plot() {
    check(
        |plot| plot.line(LINE, &[(0.0, 0.0), (10.0, 10.0)]),
        expect![[r#"
            <g data-s="3">
            <path class="line c1 d1" d="M62.0 128.0L542.0 28.0"/>
            </g>"#]],
    );
}

#[test]
fn absent_points_interrupt_a_series() {
    check(
        |plot| {
            let points = [(0.0, Some(1.0)), (1.0, Some(2.0)), (2.0, None), (3.0, Some(4.0))];
            plot.series(LINE, &points);
        },
        expect![[r#"
            <g data-s="3">
            <path class="line c1 d1" d="M62.0 118.0L110.0 108.0"/>
            <circle class="disc c1" cx="62.0" cy="118.0" r="3.2">
            </circle>
            <circle class="disc c1" cx="110.0" cy="108.0" r="3.2">
            </circle>
            <circle class="disc c1" cx="206.0" cy="88.0" r="3.2">
            </circle>
            </g>"#]],
    );
}

#[test]
fn each_series_has_its_group() {
    let mut plot = plot();
    plot.mark(LINE, 1.0, 1.0, "");
    plot.mark(LINE, 2.0, 1.0, "");
    plot.mark(Style { series: 4, ..LINE }, 3.0, 1.0, "");
    assert_eq!(plot.marks.matches("<g ").count(), 2);
}

#[test]
fn texts_are_escaped() {
    let mut plot = plot();
    plot.named_rule_y(5.0, "<b>");
    plot.mark(LINE, 1.0, 1.0, "<i>");
    let svg = plot.svg();
    assert!(
        svg.contains("ten by &lt;ten&gt;")
            && svg.contains("&lt;b&gt;")
            && svg.contains("&lt;i&gt;")
    );
}

#[test]
fn a_long_line_keeps_the_extremes_of_each_column() {
    let points: Vec<(f64, f64)> = (0..100_000)
        .map(|i| (f64::from(i) / 1_000.0, if i == 77_777 { 900.0 } else { f64::from(i % 7) }))
        .collect();
    let kept = thinned(&points);
    assert!(kept.len() <= 400, "{}", kept.len());
    assert!(kept.contains(&(77.777, 900.0)));
    assert_eq!((kept.first(), kept.last()), (points.first(), points.last()));
    assert!(kept.is_sorted_by(|a, b| a.0 <= b.0));
}

#[test]
fn a_line_keeps_its_corners_and_drops_the_points_between() {
    let corner = |i: u32| (f64::from(i), if i < 500 { 0.0 } else { f64::from(i - 500) });
    let points: Vec<(f64, f64)> = (0..1_000).map(corner).collect();
    assert_eq!(straightened(&points), [(0.0, 0.0), (500.0, 0.0), (999.0, 499.0)]);
    assert_eq!(straightened(&[]), []);
    assert_eq!(straightened(&[(1.0, 1.0)]), [(1.0, 1.0)]);
}
