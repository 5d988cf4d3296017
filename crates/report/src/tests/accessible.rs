//! The pages for people who see little, or nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::plot::STYLE;

/// The colours of the style sheet by name, light and dark.
fn colours() -> BTreeMap<&'static str, [f64; 2]> {
    let colour = |line: &'static str| {
        let (name, values) = line.trim().strip_prefix("--")?.split_once(": light-dark(")?;
        let (light, dark) = values.strip_suffix(");")?.split_once(", ")?;
        Some((name, [luminance(light), luminance(dark)]))
    };
    STYLE.lines().filter_map(colour).collect()
}

/// The relative luminance of `#rrggbb` (WCAG 2.2).
fn luminance(colour: &str) -> f64 {
    let part = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
    let linear = |part: f64| match part <= 0.04045 {
        true => part / 12.92,
        false => ((part + 0.055) / 1.055).powf(2.4),
    };
    0.2126 * linear(part(1)) + 0.7152 * linear(part(3)) + 0.0722 * linear(part(5))
}

fn contrast(one: f64, other: f64) -> f64 {
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn texts_and_curves_have_enough_contrast_in_both_themes() {
    let colours = colours();
    for (theme, name) in ["light", "dark"].into_iter().enumerate() {
        let of = |colour: &str| colours[colour][theme];
        for text in ["ink", "quiet", "weak", "good", "bad"] {
            for ground in ["paper", "panel"] {
                let contrast = contrast(of(text), of(ground));
                assert!(4.5 <= contrast, "{text} on {ground}, {name}: {contrast:.2}");
            }
        }
        for curve in ["c0", "c1", "c2", "c3", "c4", "c5"] {
            let contrast = contrast(of(curve), of("paper"));
            assert!(3.0 <= contrast, "{curve}, {name}: {contrast:.2}");
        }
    }
}

#[test]
fn ids_are_unique_and_headings_skip_no_level() {
    for page in [page(&Fixture::sweep()), page(&Fixture::new(|_| {}))] {
        let ids = || page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        assert_eq!(ids().count(), ids().collect::<BTreeSet<_>>().len());
        let body = page.split("<body>").nth(1).unwrap();
        let levels =
            body.split("<h").skip(1).filter_map(|rest| rest.split('>').next()?.parse().ok());
        let levels: Vec<u32> = levels.collect();
        assert_eq!(levels[0], 1);
        assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
        for svg in page.split("<svg ").skip(1) {
            let tag = svg.split('>').next().unwrap();
            assert!(tag.contains("aria-label=\"") || tag.contains("aria-hidden"), "{tag}");
        }
    }
}
