use super::*;

#[test]
fn the_view_keeps_off_the_cpus_of_both_roles() {
    let all = [0, 1, 2, 3];
    assert_eq!(place(&all, &[0], &[3]), [1, 2]);
    assert_eq!(place(&all, &[0, 1, 2], &[3]), [3], "the runner is there, too");
    assert_eq!(place(&all, &[], &[3]), [0, 1, 2]);
    assert_eq!(place(&all, &[0], &[]), [1], "the generator takes the last ones");
    assert_eq!(place(&[1], &[], &[1]), [1]);
    assert_eq!(place(&[1], &[1], &[]), [1]);
}
