//! A thread with a simulated disk, for the tests of what is larger than memory, and of what survives.

use std::path::Path;

use net::simulation::{Disk, Effect, Peer};
use net::{ConnectionId, Files, Simulation};

use crate::storage::{Folder, Storage};
use crate::{Completions, Session, Status};

/// The size of a page.
pub(crate) const PAGE: u64 = 16 << 10;

pub(crate) struct Nobody;

impl Peer for Nobody {
    fn receive(
        &mut self,
        _: ConnectionId,
        _: &[u8],
        _: measure::Instant,
        _: &mut Vec<(measure::Instant, Effect)>,
    ) {
    }
}

/// A thread with a disk.
pub(crate) struct Thread {
    pub(crate) io: Simulation<Nobody>,
    pub(crate) folder: Folder,
    completions: Completions,
}

impl Thread {
    pub(crate) fn new(disk: Disk) -> Thread {
        let mut io = Simulation::new(Nobody).with_disk(disk);
        let folder = Folder::new(io.folder(Path::new("/store")).unwrap());
        Thread { io, folder, completions: Completions::new(1 << 20) }
    }

    pub(crate) fn storage(&mut self) -> impl Storage + '_ {
        self.folder.on(&mut self.io)
    }

    pub(crate) fn poll(&mut self, session: &mut Session) -> Vec<(u64, Status, Vec<u8>)> {
        session.poll(&mut self.folder.on(&mut self.io), &mut self.completions);
        let ends = self.completions.iter();
        ends.map(|(serial, status, value)| (serial, status, value.to_vec())).collect()
    }
}
