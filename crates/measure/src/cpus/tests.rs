use super::*;

#[test]
fn shards_get_a_cpu_each_from_the_last_on() {
    let place = |text: &str, shards| pin(text).place(shards, &pin(text).of(vec![0, 1, 4]).unwrap());
    assert_eq!(place("auto", 2), Ok(vec![Some(1), Some(4)]));
    assert_eq!(place("auto", 4), Ok(vec![None; 4]));
    assert_eq!(place("off", 2), Ok(vec![None, None]));
    assert_eq!(place("0-1", 2), Ok(vec![Some(0), Some(1)]));
    assert_eq!(place("4", 1), Ok(vec![Some(4)]));
}

#[test]
fn more_shards_than_named_cpus_are_refused() {
    let refusal = pin("0-1").place(3, &[0, 1]).unwrap_err();
    assert_eq!(refusal, "--pin: 3 shards need a CPU each, and `0-1` names 2");
}

#[test]
fn a_cpu_that_is_not_ours_is_refused() {
    let refusal = pin("1,7").of(vec![0, 1]).unwrap_err();
    assert_eq!(refusal, "--pin: this process may not run on CPU 7, only on 0-1");
}

#[test]
fn anything_else_is_explained() {
    let refusal = "cpu0".parse::<Pin>().unwrap_err().to_string();
    assert_eq!(
        refusal,
        "`cpu0` is not a valid place of shards; write for example auto, off or 0,2-3"
    );
}

fn pin(text: &str) -> Pin {
    text.parse().unwrap()
}
