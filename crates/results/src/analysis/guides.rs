//! The published figures of the guides.

use super::{Row, Trials};

pub(crate) fn trials(by: &str, metrics: &[&str], rows: &[(&str, &[f64])]) -> Trials {
    Trials {
        by: by.to_owned(),
        metrics: metrics.iter().map(|metric| (*metric).to_owned()).collect(),
        rows: rows
            .iter()
            .zip(1..)
            .map(|((level, values), trial)| Row {
                trial,
                level: (*level).to_owned(),
                values: values.to_vec(),
            })
            .collect(),
    }
}

/// The percentiles of guide 3, in milliseconds: 15,000 requests each.
pub(crate) fn guide_3() -> Trials {
    trials(
        "stage",
        &["p99", "p99.9", "p99.99"],
        &[
            ("configured", &[266.266179, 276.945500, 284.709000]),
            ("configured", &[264.750750, 278.127000, 283.149000]),
            ("configured", &[250.629000, 263.994500, 271.937000]),
            ("configured", &[250.594875, 261.605000, 272.635000]),
            ("configured", &[266.224393, 282.690500, 290.529000]),
            ("pinned", &[263.552250, 268.646500, 272.223000]),
            ("pinned", &[266.060133, 280.979000, 285.983000]),
            ("pinned", &[266.994500, 282.858000, 292.864000]),
            ("pinned", &[268.234000, 297.516000, 326.862000]),
            ("pinned", &[265.809929, 281.717000, 288.665000]),
            ("limited", &[265.955238, 271.344500, 276.415000]),
            ("limited", &[264.850000, 271.462000, 279.283000]),
            ("limited", &[266.283643, 291.772500, 335.116000]),
            ("limited", &[266.065179, 272.497000, 279.553000]),
            ("limited", &[264.828300, 271.254500, 278.362000]),
        ],
    )
}

/// The successful logins of guide 4, three runs of a minute at each number of replicas.
pub(crate) fn guide_4() -> Trials {
    let rows = [
        ("1", [606.0, 623.0, 621.0]),
        ("2", [1068.0, 1100.0, 1168.0]),
        ("3", [1447.0, 2077.0, 2020.0]),
        ("4", [3100.0, 3351.0, 3489.0]),
        ("6", [5182.0, 5374.0, 5401.0]),
        ("10", [7822.0, 8274.0, 8357.0]),
    ];
    Trials {
        by: "replicas".to_owned(),
        metrics: vec!["logins".to_owned()],
        rows: rows
            .iter()
            .flat_map(|(level, runs)| runs.iter().map(|run| (*level, *run)))
            .zip(1..)
            .map(|((level, run), trial)| Row { trial, level: level.to_owned(), values: vec![run] })
            .collect(),
    }
}
