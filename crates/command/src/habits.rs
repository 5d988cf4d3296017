//! Short options that other generators have, and that mean something else from one to the next, or are called
//! otherwise here. Whoever types one is told what to write.

#[cfg(test)]
mod tests;

/// A short option elsewhere.
struct Habit {
    letter: char,
    /// The tools that have it, with what it means there.
    means: &'static str,
    /// The options of `load` and of `capacity` in its place; empty where there is none.
    load: &'static str,
    capacity: &'static str,
}

const fn habit(
    letter: char,
    means: &'static str,
    load: &'static str,
    capacity: &'static str,
) -> Habit {
    Habit { letter, means, load, capacity }
}

const HABITS: &[Habit] = &[
    habit(
        'd',
        "the duration in wrk, and the body of the requests in oha, hey and curl",
        "`--duration 30s` or `--body TEXT`",
        "`--duration 5s` (of each measurement), `--time 5m` (of all) or `--body TEXT`",
    ),
    habit(
        't',
        "the number of threads in wrk, and the timeout of a request in oha and hey",
        "`--shards 2` (or `--script-threads 2`) or `--timeout 5s`",
        "`--timeout 5s`; the threads are as many as the rate needs",
    ),
    habit(
        'T',
        "the timeout of a request in wrk, and the content type in oha and hey",
        "`--timeout 5s` or `--header 'Content-Type: …'`",
        "`--timeout 5s` or `--header 'Content-Type: …'`",
    ),
    habit('n', "the number of requests in oha, hey and ab", "`--requests 1000`", ""),
    habit('z', "the duration in oha and hey", "`--duration 30s`", "`--time 5m`"),
    habit(
        'q',
        "the rate in oha (of all connections) and in hey (of each)",
        "`--rate 1k/s` (of all)",
        "",
    ),
    habit('R', "the rate in wrk2", "`--rate 1k/s`", ""),
    habit('s', "the script in wrk", "`--script FILE`", "`--script FILE`"),
    habit('D', "a file with the body in oha and hey", "`--body-file FILE`", "`--body-file FILE`"),
    habit(
        'a',
        "the name and the password in oha and hey",
        "`--header-file FILE` with `Authorization: …`, or http://NAME:PASSWORD@HOST/",
        "`--header-file FILE` with `Authorization: …`, or http://NAME:PASSWORD@HOST/",
    ),
    habit('A', "the field Accept in oha and hey", "`-H 'Accept: …'`", "`-H 'Accept: …'`"),
    habit('X', "the method in curl", "`-m METHOD`", "`-m METHOD`"),
    habit('L', "the latencies in wrk", "nothing: they are always printed", ""),
];

/// Explains a short option that a command does not have; `None` if no other tool has it either.
pub(crate) fn explain(command: &str, option: &str) -> Option<String> {
    let mut characters = option.strip_prefix('-')?.chars();
    let letter = characters.next()?;
    let habit = HABITS.iter().find(|habit| habit.letter == letter)?;
    let here = match command {
        "load" => habit.load,
        "capacity" => habit.capacity,
        _ => "",
    };
    (characters.next().is_none() && !here.is_empty())
        .then(|| format!("`-{letter}` is {}; here write {here}", habit.means))
}
