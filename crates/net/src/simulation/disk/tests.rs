use super::*;

const FAR: Instant = Instant(1 << 60);

/// A disk, and a folder of it.
struct Place {
    disk: Disk,
    folder: FolderId,
    now: Instant,
}

fn place(faults: Faults) -> Place {
    of(Disk::new(3).with_faults(faults))
}

fn of(disk: Disk) -> Place {
    let mut disk = disk;
    let folder = disk.folder(Path::new("data"));
    Place { disk, folder, now: Instant(0) }
}

impl Place {
    fn open(&mut self, name: &str, how: Open) -> FileId {
        self.disk.open(self.folder, name, how).unwrap()
    }

    fn begin(&mut self, file: FileId, operation: Operation) {
        self.disk.begin(file, operation, 0, self.now);
    }

    /// The completion of the only operation in progress.
    fn end(&mut self) -> Result<usize, i32> {
        self.disk.run(FAR);
        let done = self.disk.next_completion().expect("every operation completes");
        done.result.map_err(|error| error.raw_os_error().unwrap())
    }

    fn run(&mut self, file: FileId, operation: Operation) -> Result<usize, i32> {
        self.begin(file, operation);
        self.end()
    }

    fn write(&mut self, file: FileId, at: u64, bytes: &[u8]) -> Result<usize, i32> {
        self.run(file, Operation::Write { at, bytes: bytes.to_vec() })
    }

    fn sync(&mut self, file: FileId) -> Result<usize, i32> {
        self.run(file, Operation::Sync)
    }

    fn contents(&mut self, name: &str) -> Option<Vec<u8>> {
        let file = self.disk.open(self.folder, name, Open::Existing).ok()?;
        self.begin(file, Operation::Read { at: 0, buffer: vec![0; 100_000] });
        self.disk.run(FAR);
        let done = self.disk.next_completion().unwrap();
        self.disk.close_file(file);
        Some(done.buffer[..done.result.unwrap()].to_vec())
    }

    fn remove(&mut self, name: &str) -> Result<usize, i32> {
        self.disk.remove(self.folder, name, 0, self.now);
        self.end()
    }

    /// The contents of a file after each of a hundred crashes.
    fn crashes(&self, name: &str) -> Vec<Option<Vec<u8>>> {
        (0..100).map(|seed| of(self.disk.after_crash(seed)).contents(name)).collect()
    }
}

#[test]
fn a_crash_keeps_everything_that_was_synced() {
    let mut place = place(Faults::default());
    let file = place.open("a", Open::New);
    place.write(file, 0, &[1; 5_000]).unwrap();
    place.write(file, 100, &[2; 100]).unwrap();
    place.run(file, Operation::Truncate { length: 4_000 }).unwrap();
    place.sync(file).unwrap();
    let expected = place.contents("a");
    assert_eq!(expected.as_ref().unwrap().len(), 4_000);
    assert!(place.crashes("a").iter().all(|found| *found == expected));
}

#[test]
fn a_crash_tears_what_was_not_synced_between_sectors() {
    let mut place = place(Faults::default());
    let file = place.open("a", Open::New);
    place.write(file, 0, &[1; 1_000]).unwrap();
    place.sync(file).unwrap();
    place.write(file, 700, &[2; 3_000]).unwrap();
    // The bytes of a sector are all there, or as they were before: none, or zeros.
    let (mut orders, mut lengths) = (Vec::new(), Vec::new());
    for found in place.crashes("a") {
        let found = found.unwrap();
        assert!(found[..700].iter().all(|byte| *byte == 1));
        let mut sectors = Vec::new();
        for start in [700, 1_024, 1_536, 2_048, 2_560, 3_072, 3_584] {
            let end = (start / 512 * 512 + 512).min(3_700);
            let sector: Vec<u8> = (start..end).map(|at| *found.get(at).unwrap_or(&0)).collect();
            let is_new = sector.iter().all(|byte| *byte == 2);
            let before = (start..end).map(|at| u8::from(at < 1_000));
            assert!(is_new || before.eq(sector.iter().copied()), "{start}: {sector:?}");
            sectors.push(is_new);
        }
        orders.push(sectors);
        lengths.push(found.len());
    }
    let any = |wanted: &dyn Fn(&Vec<bool>) -> bool| orders.iter().any(wanted);
    assert!(any(&|sectors| sectors.iter().all(|new| *new)), "everything survives");
    assert!(any(&|sectors| sectors.iter().all(|new| !new)), "nothing survives");
    assert!(any(&|sectors| !sectors[0] && sectors[6]), "the end survives without the beginning");
    assert!(lengths.contains(&1_000) && lengths.contains(&3_700), "{lengths:?}");
}

#[test]
fn a_later_write_may_survive_an_earlier_one() {
    let mut place = place(Faults::default());
    let file = place.open("a", Open::New);
    place.sync(file).unwrap();
    place.write(file, 0, &[1; 512]).unwrap();
    place.write(file, 512, &[2; 512]).unwrap();
    let found = place.crashes("a");
    let only_second: Vec<u8> = [[0; 512], [2; 512]].concat();
    assert!(found.contains(&Some(only_second)));
}

#[test]
fn a_sync_covers_only_what_had_completed_when_it_began() {
    let mut place = place(Faults::default());
    let file = place.open("a", Open::New);
    place.sync(file).unwrap();
    place.write(file, 0, &[1; 512]).unwrap();
    place.begin(file, Operation::Sync);
    place.begin(file, Operation::Write { at: 512, bytes: vec![2; 512] });
    place.end().unwrap();
    place.disk.next_completion().unwrap().result.unwrap();
    let found = place.crashes("a");
    assert!(found.iter().flatten().all(|found| found[..512] == [1; 512]));
    assert!(found.iter().flatten().any(|found| found.len() == 512));
}

#[test]
fn a_write_in_progress_may_survive() {
    let mut place = place(Faults::default());
    let file = place.open("a", Open::New);
    place.sync(file).unwrap();
    place.begin(file, Operation::Write { at: 0, bytes: vec![1; 2_048] });
    let found = place.crashes("a");
    assert!(found.contains(&Some(vec![1; 2_048])) && found.contains(&Some(Vec::new())));
    // Looking at crashes changes nothing.
    assert_eq!(place.end(), Ok(2_048));
}

#[test]
fn a_name_is_durable_only_after_a_sync_of_its_file() {
    let mut place = place(Faults::default());
    let file = place.open("a", Open::New);
    place.write(file, 0, b"hello").unwrap();
    assert!(place.crashes("a").contains(&None));
    place.sync(file).unwrap();
    let hello = Some(b"hello".to_vec());
    assert!(place.crashes("a").iter().all(|found| *found == hello));
    place.remove("a").unwrap();
    let found = place.crashes("a");
    assert!(found.contains(&None) && found.contains(&hello));
    assert!(found.iter().all(|found| found.is_none() || *found == hello));
    // The name leads to the old file or to the new one.
    let new = place.open("a", Open::New);
    let found = place.crashes("a");
    assert!(found.contains(&Some(Vec::new())) && found.contains(&hello));
    place.write(new, 0, b"new").unwrap();
    place.sync(new).unwrap();
    assert!(place.crashes("a").iter().all(|found| *found == Some(b"new".to_vec())));
}

#[test]
fn the_call_that_fails_is_the_chosen_one() {
    // Two writes, a sync with its folder, and a removal.
    for failing in 0..6 {
        let mut place = place(Faults { failing_call: Some(failing), ..Faults::default() });
        let file = place.open("a", Open::New);
        let results = [
            place.write(file, 0, &[1; 100]),
            place.write(file, 100, &[2; 100]),
            place.sync(file),
            place.remove("a"),
        ];
        let operation = [0, 1, 2, 2, 3, 4][failing as usize];
        for (index, result) in results.into_iter().enumerate() {
            assert_eq!(result.is_err(), index == operation, "{failing} {index}");
        }
        assert!(results.into_iter().all(|result| result.is_ok() || result == Err(libc::EIO)));
        assert_eq!(place.disk.calls(), if failing == 2 { 4 } else { 5 });
    }
}

#[test]
fn what_a_failed_sync_was_to_cover_stays_lost() {
    let mut place = place(Faults { failing_call: Some(3), ..Faults::default() });
    let file = place.open("a", Open::New);
    place.sync(file).unwrap();
    place.write(file, 0, &[1; 512]).unwrap();
    assert_eq!(place.sync(file), Err(libc::EIO));
    place.write(file, 512, &[2; 512]).unwrap();
    assert_eq!(place.sync(file), Ok(0));
    assert_eq!(place.contents("a").unwrap(), [[1; 512], [2; 512]].concat());
    let found = place.crashes("a");
    assert!(found.contains(&Some([[0; 512], [2; 512]].concat())), "the first is lost");
    assert!(found.iter().flatten().all(|found| found[512..] == [2; 512]));
    // What is written over it is durable by the next sync.
    place.write(file, 0, &[3; 512]).unwrap();
    place.sync(file).unwrap();
    let expected = Some([[3; 512], [2; 512]].concat());
    assert!(place.crashes("a").iter().all(|found| *found == expected));
}

#[test]
fn a_full_disk_takes_a_part_and_then_nothing_until_there_is_space() {
    let mut place = place(Faults { capacity: Some(1_000), ..Faults::default() });
    let file = place.open("a", Open::New);
    let other = place.open("b", Open::New);
    assert_eq!(place.write(other, 0, &[1; 600]), Ok(600));
    assert_eq!(place.write(file, 0, &[2; 600]), Err(libc::ENOSPC));
    assert_eq!(place.contents("a").unwrap(), [2; 400]);
    // What needs no space still works.
    assert_eq!(place.write(other, 100, &[3; 500]), Ok(500));
    assert_eq!(place.sync(file), Ok(0));
    place.run(file, Operation::Truncate { length: 0 }).unwrap();
    assert_eq!(place.write(file, 0, &[2; 600]), Err(libc::ENOSPC));
    place.remove("b").unwrap();
    assert_eq!(place.write(file, 0, &[2; 600]), Err(libc::ENOSPC), "it is still open");
    place.disk.close_file(other);
    assert_eq!(place.write(file, 0, &[2; 600]), Ok(600));
    place.disk.faults.capacity = Some(2_000);
    assert_eq!(place.write(file, 600, &[2; 1_400]), Ok(1_400));
}

#[test]
fn the_same_seed_gives_the_same_disk() {
    let story = |seed| {
        let faults = Faults { partial: true, failing_call: Some(20), ..Faults::default() };
        let mut place = of(Disk::new(seed).with_faults(faults));
        let file = place.open("a", Open::New);
        for token in 0..50 {
            let bytes = vec![token as u8; 1_000];
            let operation = Operation::Write { at: token * 500, bytes };
            place.disk.begin(file, operation, token, Instant(0));
        }
        place.disk.run(Instant(200_000));
        let mut story = Vec::new();
        while let Some(done) = place.disk.next_completion() {
            story.push(format!("{done:?}"));
        }
        story.push(format!("{:?} {:?}", place.disk.next(), place.crashes("a")));
        story
    };
    assert_eq!(story(1), story(1));
    assert_ne!(story(1), story(2));
}

#[test]
fn a_renamed_file_has_its_new_name_after_every_crash() {
    let mut place = place(Faults::default());
    let old = place.open("a", Open::New);
    place.write(old, 0, b"old").unwrap();
    place.sync(old).unwrap();
    let new = place.open("b", Open::New);
    place.write(new, 0, b"new").unwrap();
    place.sync(new).unwrap();
    place.disk.rename(place.folder, ["b", "a"], 0, place.now);
    place.end().unwrap();
    assert!(place.crashes("a").iter().all(|found| found.as_deref() == Some(b"new")));
    assert!(place.crashes("b").iter().all(Option::is_none));
}
