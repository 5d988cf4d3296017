use super::*;

#[test]
fn a_part_is_written_with_its_number_from_one() {
    for text in ["1/1", "2/3", "1000/1000"] {
        assert_eq!(text.parse::<Portion>().unwrap().to_string(), text);
    }
    assert_eq!("#0/3".parse::<Portion>().unwrap().to_string(), "1/3");
    assert_eq!("#2/3".parse::<Portion>().unwrap().to_string(), "3/3");
    for text in ["#3/3", "0/3", "4/3", "1/0", "1", "a/b", "1/1001", "-1/2", "1/2/3"] {
        let error = text.parse::<Portion>().unwrap_err();
        assert!(error.contains("write for example 2/3"), "{error}");
    }
}

#[test]
fn the_parts_share_without_a_rest_and_number_without_a_collision() {
    for of in 1..=7 {
        let parts: Vec<Portion> = (0..of).map(|index| Portion::new(index, of).unwrap()).collect();
        for number in [0, 1, 6, 7, 64, 1_000_003] {
            let mut before = 0;
            for part in &parts {
                assert_eq!(part.before(number), before);
                before += part.share(number);
            }
            assert_eq!(before, number);
        }
        let mut numbers: Vec<u64> =
            parts.iter().flat_map(|part| (0..5).map(|own| part.number(own))).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..5 * u64::from(of)));
    }
    assert_eq!((Portion::WHOLE.share(9), Portion::WHOLE.number(9)), (9, 9));
}
