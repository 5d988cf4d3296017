use super::*;

#[test]
fn times_step_up_at_85_hundredths_of_the_next_unit() {
    let vectors = [
        (0.0, "0.00us"),
        (849.99, "849.99us"),
        (850.0, "0.85ms"),
        (999_999.0, "1000.00ms"),
        (1_000_000.0, "1.00s"),
        (50_999_999.0, "51.00s"),
        (51_000_000.0, "0.85m"),
        (3_600_000_000.0, "60.00m"),
        (360_000_000_000.0, "6000.00m"),
    ];
    for (us, text) in vectors {
        assert_eq!(time(us), text);
    }
}

#[test]
fn counts_and_bytes_never_show_the_last_unit() {
    let counts = [
        (0, "0.00"),
        (849, "849.00"),
        (850, "0.85k"),
        (12_345, "12.35k"),
        (1_000_000, "1.00M"),
        (u64::MAX, "18446744.07T"),
    ];
    for (x, text) in counts {
        assert_eq!(count(x), text);
    }
    let sizes = [
        (870, "870.00"),
        (871, "0.85K"),
        (891_289, "870.40K"),
        (891_290, "0.85M"),
        (u64::MAX, "16777216.00T"),
    ];
    for (x, text) in sizes {
        assert_eq!(bytes(x), text);
    }
}

#[test]
fn run_lengths_have_no_decimals_and_no_hours() {
    let lengths = [50, 51, 90, 150, 3600].map(|s| run_length(Nanos::from_secs(s)));
    assert_eq!(lengths, ["50s", "1m", "2m", "2m", "60m"]);
}

#[test]
fn numbers_are_aligned_with_any_unit() {
    let vectors = [
        ("1.00s", 8, "  1.00s "),
        ("635.91us", 8, "635.91us"),
        ("0.62ms", 8, "  0.62ms"),
        ("12.35k", 10, "   12.35k "),
        ("0.00", 9, "   0.00  "),
        ("1000.00ms", 8, "1000.00m"),
        ("18446744.07T", 8, "1844674 "),
    ];
    for (text, width, columns) in vectors {
        assert_eq!(aligned(text, width), columns, "{text}");
    }
}
