use super::*;

fn rate(text: &str) -> Result<f64, String> {
    text.parse::<Rate>().map(Rate::as_per_second).map_err(|e| e.to_string())
}

#[test]
fn rates_are_read_per_second_minute_and_hour() {
    assert_eq!(rate("500/s"), Ok(500.0));
    assert_eq!(rate("5k/s"), Ok(5_000.0));
    assert_eq!(rate("5e3/s"), Ok(5_000.0));
    assert_eq!(rate("2.5E-1k/s"), Ok(250.0));
    assert_eq!(rate("1.5M/s"), Ok(1_500_000.0));
    assert_eq!(rate("30/m"), Ok(0.5));
    assert_eq!(rate("0.1/s"), Ok(0.1));
}

#[test]
fn an_invalid_rate_is_refused_with_an_example() {
    assert_eq!(rate("5000"), Err("`5000` is not a valid rate; write for example 5000/s".into()));
    assert_eq!(rate("5 kHz"), Err("`5 kHz` is not a valid rate; write for example 5k/s".into()));
    assert_eq!(
        rate("0/s"),
        Err("`0/s` is not a valid rate above zero; write for example 5k/s".into())
    );
    assert!(rate("-3/s").is_err());
}

#[test]
fn numbers_are_printed_with_thousands_separators() {
    let print = |x| Rate::per_second(x).map(|r| r.to_string()).unwrap_or_default();
    assert_eq!(print(3712.4), "3,712/s");
    assert_eq!(print(12_388_581.0), "12,388,581/s");
    assert_eq!(print(45.62), "45.6/s");
    assert_eq!(print(0.5), "0.50/s");
}

#[test]
fn sizes_are_read_and_printed() {
    assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
    assert_eq!("10MB".parse(), Ok(Bytes(10_000_000)));
    assert!("64".parse::<Bytes>().is_err());
    assert_eq!(Bytes(8_100_000).to_string(), "8.10 MB");
    assert_eq!(Bytes(999).to_string(), "999 B");
}

#[test]
fn counts_are_whole_and_have_letters_for_thousands() {
    for (text, count) in [("0", 0), ("7", 7), ("100k", 100_000), ("2K", 2_000), ("1M", 1_000_000)] {
        assert_eq!(whole_count(text), Some(count), "{text}");
    }
    for text in ["", "k", "-1", "1.5k", "1G", "1 k", "99999999999999999M"] {
        assert_eq!(whole_count(text), None, "{text}");
    }
}

#[test]
fn a_figure_beside_its_bound_has_the_digits_in_which_they_differ() {
    let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    assert_eq!(percents(0.5, 0.015, 2), pair("50.00 %", "1.50 %"));
    assert_eq!(percents(0.01502, 0.015, 2), pair("1.502 %", "1.500 %"));
    assert_eq!(percents(0.015, 0.015, 2), pair("1.50 %", "1.50 %"));
    assert_eq!(percents(0.704, 0.7, 0), pair("70.4 %", "70.0 %"));
    let (one, other) = (Nanos(1_000_100), Nanos::from_millis(1));
    assert_eq!(lengths(one, other), pair("1,000,100 ns", "1,000,000 ns"));
    assert_eq!(lengths(Nanos::from_millis(2), other), pair("2.00 ms", "1.00 ms"));
}

#[test]
fn a_rate_beyond_one_each_nanosecond_is_refused() {
    let text =
        "`1e30/s` is not a valid rate of at most 1G/s, one each nanosecond; write for example 5k/s";
    assert_eq!(rate("1e30/s"), Err(text.to_owned()));
    assert_eq!(rate("1G/s"), Ok(1e9));
}
