use super::*;

#[test]
fn delays_are_read_and_a_wrong_one_is_explained() {
    let ms = Nanos::from_millis;
    for (text, delay) in [
        ("1ms", Delay::Fixed(ms(1))),
        ("fixed:0s", Delay::Fixed(ms(0))),
        ("exponential:2ms", Delay::Exponential { mean: ms(2) }),
        ("bimodal:1ms,10ms,5%", Delay::Bimodal { fast: ms(1), slow: ms(10), slow_share: 0.05 }),
    ] {
        assert_eq!(text.parse(), Ok(delay), "{text}");
    }
    for text in ["", "1", "normal:1ms", "bimodal:1ms,2ms", "bimodal:1ms,2ms,120%"] {
        let error = text.parse::<Delay>().expect_err(text);
        assert!(error.contains("write"), "{error}");
    }
}

#[test]
fn the_log_tells_disorder_from_simultaneity() {
    let mut log = Log::default();
    for (at, target) in [(1, "/1"), (2, "/3"), (2, "/2"), (3, "/2"), (4, "/about"), (5, "/4")] {
        log.arrived(Instant(at), target);
    }
    assert_eq!((log.requests, log.out_of_order), (6, 1));
}
