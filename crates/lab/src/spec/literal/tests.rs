use std::net::IpAddr;

use measure::{Nanos, Rate};

use super::*;

fn round_trip<T: Literal + PartialEq + std::fmt::Debug>(text: &str) -> String {
    match T::read(text) {
        Ok(value) => {
            let written = value.write();
            assert_eq!(T::read(&written).unwrap(), value, "{text} → {written}");
            written
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_written_value_is_read_again_as_the_same_value() {
    assert_eq!(round_trip::<Nanos>("1.5s"), "1500ms");
    assert_eq!(round_trip::<Nanos>("100us"), "100us");
    assert_eq!(round_trip::<Rate>("1.5k/s"), "1500/s");
    assert_eq!(round_trip::<Rate>("10/m"), "0.16666666666666666/s");
    assert_eq!(round_trip::<Share>("0.1%"), "0.001");
    assert_eq!(round_trip::<Share>("0"), "0");
    assert_eq!(round_trip::<Growth>("5%"), "5%");
    assert_eq!(round_trip::<Growth>("1k/s"), "1000/s");
    assert_eq!(round_trip::<Cpus>("3,0-1,1"), "0-1,3");
    assert_eq!(round_trip::<Bytes>("64KiB"), "64KiB");
    assert_eq!(round_trip::<Bytes>("1500B"), "1500B");
    assert_eq!(round_trip::<Count>("100k"), "100000");
    assert_eq!(round_trip::<Count>("1M"), "1000000");
    assert_eq!(round_trip::<Count>("7"), "7");
    assert_eq!(round_trip::<IpAddr>("10.0.0.7"), "10.0.0.7");
    assert_eq!(round_trip::<IpAddr>("::1"), "::1");
    assert_eq!(round_trip::<Pin>("auto"), "auto");
    assert_eq!(round_trip::<Pin>("off"), "off");
    assert_eq!(round_trip::<Pin>("2,0-1"), "0-2");
}

#[test]
fn a_wrong_word_is_an_error_that_shows_the_right_form() {
    let time = "`5` is not a valid length of time; write for example 10ms, 1.5s or 2m";
    assert_eq!(round_trip::<Nanos>("5"), time);
    let share = "`2` is not a valid share from 0 to 1; write for example 5% or 0.05";
    assert_eq!(round_trip::<Share>("2"), share);
    for step in ["0%", "-5%", "0/s", "-100/s", "5", "fast"] {
        let wrong =
            format!("`{step}` is not a valid step above zero; write for example 5% or 100/s");
        assert_eq!(round_trip::<Growth>(step), wrong);
    }
    for cpus in ["", "3-1", "a", "0-", "-1", "99999"] {
        let wrong =
            format!("`{cpus}` is not a valid list of CPUs; write for example 0, 0-3 or 0,2-3");
        assert_eq!(round_trip::<Cpus>(cpus), wrong);
    }
    for count in ["", "0", "-1", "1.5", "1G", "99999999999999999999", "99999999999999999M"] {
        let wrong =
            format!("`{count}` is not a valid count from 1; write for example 1000, 100k or 1M");
        assert_eq!(round_trip::<Count>(count), wrong);
    }
    let address = "`localhost` is not a valid IP address; write for example 10.0.0.7";
    assert_eq!(round_trip::<IpAddr>("localhost"), address);
    let pin = "`cpu0` is not a valid place of shards; write for example auto, off or 0,2-3";
    assert_eq!(round_trip::<Pin>("cpu0"), pin);
}

#[test]
fn shares_are_shown_in_percent() {
    assert_eq!(Share(0.001).to_string(), "0.1 %");
    assert_eq!(Share(0.05).to_string(), "5 %");
}
