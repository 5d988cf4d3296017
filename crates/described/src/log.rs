//! An access log: its requests by method and path, with the rate by minute.

use std::collections::BTreeMap;
use std::io::BufRead;

use results::lines::Lines;

use crate::described::{
    Described, MOST_REQUESTS, NO_SERVER, Rates, Request, Wanted, reads, server,
};
use crate::fold::{Numbers, fold, unfold};
use crate::line::{self, Entry};
use crate::references::References;
use crate::target;
use crate::words::{one_line, several};

/// The most different paths and minutes that are counted one by one.
const MOST_PATHS: usize = 10_000;
const MOST_MINUTES: usize = 1_000_000;
/// So many lines may come before the first one of a request.
const MOST_BEFORE: u64 = 1_000;

/// The requests with one method and path.
struct Group {
    count: u64,
    /// The target of the first one.
    example: String,
    numbers: Vec<Numbers>,
    /// True if another one had another query.
    has_queries: bool,
}

#[derive(Default)]
struct Counted {
    groups: BTreeMap<(String, String), Group>,
    minutes: BTreeMap<i64, u64>,
    requests: u64,
    failed: u64,
    files: u64,
    others: u64,
    /// The lines that are not those of a request, and the first of them.
    unread: u64,
    first_unread: u64,
    too_many: u64,
}

pub(crate) fn read(input: &mut dyn BufRead, wanted: &Wanted) -> Result<Described, String> {
    let Some(base) = &wanted.base else { return Err(NO_SERVER.replacen("it", "a log", 1)) };
    let (endpoint, _) = server(base)?;
    let mut counted = Counted::default();
    let mut lines = Lines::of(input);
    while let Some(text) = lines.next_text()? {
        match line::parse(&text) {
            Some(entry) => counted.add(entry, wanted),
            None => {
                counted.unread += 1;
                if counted.first_unread == 0 {
                    counted.first_unread = lines.number;
                }
                if counted.is_empty() && MOST_BEFORE < counted.unread {
                    break;
                }
            }
        }
    }
    if counted.is_empty() {
        return Err(format!(
            "line {}: it is not a request in the combined format, nor a JSON object with a method and a path; set \
             the log's format to one of these, or name what the file is: --as openapi or --as har",
            counted.first_unread.max(1)
        ));
    }
    Ok(counted.described(endpoint))
}

impl Counted {
    /// Returns true if no line was that of a request.
    fn is_empty(&self) -> bool {
        self.requests + self.failed + self.files + self.others == 0
    }

    fn add(&mut self, entry: Entry, wanted: &Wanted) {
        let Entry { method, target, status, second } = entry;
        if ["OPTIONS", "CONNECT", "TRACE", "PRI"].contains(&&*method) || target::MOST < target.len()
        {
            self.others += 1;
            return;
        }
        if status.is_some_and(|status| !(200..400).contains(&status)) {
            self.failed += 1;
            return;
        }
        if !wanted.files && target::is_file(target::path(&target)) {
            self.files += 1;
            return;
        }
        self.requests += 1;
        if let Some(second) = second {
            let minute = second.div_euclid(60);
            if self.minutes.len() < MOST_MINUTES || self.minutes.contains_key(&minute) {
                *self.minutes.entry(minute).or_default() += 1;
            }
        }
        let (path, numbers) = fold(target::path(&target));
        let has_room = self.groups.len() < MOST_PATHS;
        let group = match self.groups.get_mut(&(method.clone(), path.clone())) {
            Some(group) => group,
            None if has_room => self.groups.entry((method, path)).or_insert_with(|| Group {
                count: 0,
                example: target.clone(),
                numbers: numbers.iter().map(|_| Numbers::default()).collect(),
                has_queries: false,
            }),
            None => {
                self.too_many += 1;
                return;
            }
        };
        group.count += 1;
        group.has_queries |= query(&group.example) != query(&target);
        group.numbers.iter_mut().zip(numbers).for_each(|(all, number)| all.add(number));
    }

    fn described(mut self, endpoint: String) -> Described {
        let rates = self.rates();
        let mut references = References::default();
        let mut secret = 0;
        let mut groups: Vec<((String, String), Group)> =
            std::mem::take(&mut self.groups).into_iter().collect();
        groups.sort_by(|(a_name, a), (b_name, b)| b.count.cmp(&a.count).then(a_name.cmp(b_name)));
        let mut requests = Vec::new();
        // What is beyond is too rare to be read one by one.
        let rare = groups.split_off(groups.len().min(2 * MOST_REQUESTS));
        for ((method, path), group) in groups {
            match request(method, &path, &group, &mut references) {
                Some(request) => requests.push(request),
                None => secret += group.count,
            }
        }
        let rare_count = rare.iter().map(|(_, group)| group.count).sum::<u64>() + self.too_many;
        let mut said = Vec::new();
        let mut tell = |count: u64, why: &str| {
            if 0 < count {
                said.push(format!("left out: {} {why}", several(count, "request", "requests")));
            }
        };
        tell(self.failed, "without a successful answer (2xx or 3xx)");
        tell(self.files, "for files (images, fonts, styles, scripts); --files has them, too");
        tell(self.others, "by OPTIONS, CONNECT or TRACE, or with an overlong path");
        tell(secret, "whose path seems to hold a secret");
        tell(rare_count, "with the rarest paths");
        if 0 < self.unread {
            said.push(format!(
                "{} of the log could not be read as requests, the first of them line {}",
                several(self.unread, "line", "lines"),
                self.first_unread
            ));
        }
        let variables = references.0;
        Described { endpoint, requests, rates, said, variables, ..Described::default() }
    }

    fn rates(&self) -> Option<Rates> {
        let mut counts: Vec<u64> = self.minutes.values().copied().collect();
        // The first and the last minute are cut off.
        if 2 < counts.len() {
            counts = counts[1..counts.len() - 1].to_vec();
        }
        counts.sort_unstable();
        let per_s = |count: u64| count as f64 / 60.0;
        Some(Rates {
            requests: self.requests,
            minutes: counts.len() as u64,
            median_per_s: per_s(*counts.get(counts.len() / 2)?),
            peak_per_s: per_s(*counts.last()?),
        })
    }
}

fn query(target: &str) -> &str {
    target.split_once('?').map_or("", |(_, query)| query)
}

fn request(
    method: String,
    path: &str,
    group: &Group,
    references: &mut References,
) -> Option<Request> {
    let example = target::plain(&group.example);
    let (unfolded, mut guesses) = unfold(target::path(&example), &group.numbers);
    let whole = match query(&example) {
        "" => unfolded,
        query => format!("{unfolded}?{query}"),
    };
    let target = target::without_secrets(&whole, references)?;
    if group.has_queries {
        guesses.push("the query of one of them stands for all".to_owned());
    }
    let mut facts = vec![format!("{} in the log", several(group.count, "request", "requests"))];
    if !reads(&method) {
        facts.push("the log has no body: write it as \"body\"".to_owned());
    }
    Some(Request {
        weight: group.count,
        label: one_line(&format!("{method} {path}")),
        method,
        target,
        facts,
        guesses,
        ..Request::default()
    })
}
