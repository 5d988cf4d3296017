use super::*;

#[test]
fn the_keys_of_all_clients_are_all_keys() {
    for (clients, threads) in [(1, 1), (1, 3), (3, 2), (5, 4)] {
        let step = clients * threads;
        for keys in 0..100 {
            let own = |client| own_keys(keys, client * threads, threads, step);
            assert_eq!((0..clients).map(own).sum::<u64>(), keys);
            let counted = (0..keys).filter(|number| number % step < threads).count();
            assert_eq!(own(0), counted as u64);
        }
    }
}
