use std::sync::atomic::Ordering::Relaxed;

use super::{HUGE, Memory, WORD};

#[test]
fn memory_is_zero_aligned_and_keeps_what_is_written() {
    let memory = Memory::zeroed(1000).unwrap();
    assert_eq!(memory.len(), 1000);
    assert_eq!(memory.as_ptr() as usize % HUGE, 0);
    assert!(memory.iter().all(|word| word.load(Relaxed) == 0));
    for (value, word) in memory.iter().enumerate() {
        word.store(value as u64, Relaxed);
    }
    assert!(memory.iter().enumerate().all(|(value, word)| word.load(Relaxed) == value as u64));
}

#[test]
fn released_words_are_zero_and_their_neighbours_stay() {
    let words = HUGE / WORD;
    let memory = Memory::zeroed(2 * words).unwrap();
    memory.iter().for_each(|word| word.store(7, Relaxed));
    memory.release(0..words);
    assert!(memory[..words].iter().all(|word| word.load(Relaxed) == 0));
    assert!(memory[words..].iter().all(|word| word.load(Relaxed) == 7));
}

#[test]
fn more_than_the_address_space_is_refused() {
    assert!(Memory::zeroed(usize::MAX / 2).is_err());
    assert!(Memory::zeroed(1 << 50).is_err());
}
