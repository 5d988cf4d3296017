use super::*;

fn drawing(series: Vec<Series>) -> Drawing {
    Drawing {
        summary: "a & b".to_owned(),
        x: Axis { label: "percentile", quantity: Quantity::Level },
        y: Axis { label: "response time", quantity: Quantity::Time },
        series,
    }
}

fn line(name: &str) -> Series {
    let points = vec![(0.0, 1e5), (0.9, 2e5), (0.999, 9e8)];
    Series { name: name.to_owned(), points, shape: Shape::Line }
}

#[test]
fn a_drawing_is_a_complete_file_with_nothing_unescaped_or_external() {
    let marks = Series { shape: Shape::Marks, ..line("<wrk>") };
    let svg = drawing(vec![line("open"), marks]).svg();
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 570 "));
    assert!(svg.contains("aria-label=\"a &amp; b\""));
    assert!(svg.contains(">open</text>") && svg.contains(">&lt;wrk&gt;</text>"));
    assert_eq!(svg.matches("<path class=\"line c1 d0\"").count(), 2, "the line and its sample");
    assert_eq!(svg.matches("class=\"ring c3\"").count(), 4, "three marks and their sample");
    assert!(svg.contains(">99.9</text>") && svg.contains(">100 µs</text>"));
    for outside in ["href", "url(", "@import", "<script"] {
        assert!(!svg.contains(outside), "{outside}");
    }
}

#[test]
fn colours_are_the_pages_own_in_light_and_dark() {
    let svg = drawing(vec![line("open")]).svg();
    let (light, dark) = svg.split_once("@media (prefers-color-scheme: dark)").unwrap();
    assert!(light.contains(".paper { fill: #ffffff; }") && light.contains("stroke: #0072b2;"));
    assert!(dark.contains(".paper { fill: #15181c; }") && dark.contains("stroke: #56b4e9;"));
    assert!(!svg.contains("var(") && !svg.contains("light-dark("));
}

#[test]
fn a_long_legend_takes_more_lines_and_the_drawing_grows() {
    let height = |svg: &str| -> f64 {
        let (_, rest) = svg.split_once("height=\"").unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    let short = drawing(vec![line("open")]).svg();
    let long = drawing((0..4).map(|_| line("a closed loop that thinks for 16 ms")).collect());
    assert!(height(&short) + 2.0 * LINE <= height(&long.svg()));
}

#[test]
fn a_drawing_of_nothing_is_a_drawing() {
    let svg = drawing(Vec::new()).svg();
    assert!(!svg.contains("NaN") && svg.ends_with("</svg>\n"));
}
