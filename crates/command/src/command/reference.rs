//! `benchwright reference`: the server with known delays.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use load::reference::{Log, Manner, Record, Reference as Server};
use net::{cores, process};

use super::load::{congestion_control, kernel_timestamps};
use crate::cli::Reference;
use crate::output::{self, Exit, Failure};

pub(crate) fn reference(arguments: &Reference) -> Result<Exit, Failure> {
    let Reference { listen, delay, status, body, seed, .. } = *arguments;
    let stop = crate::interrupted();
    process::raise_open_files();
    if let Some(cpu) = arguments.cpu {
        let pinned = cores::pin(cpu);
        pinned.map_err(|error| Failure::question(format!("--cpu {cpu}: {error}")))?;
    }
    // Created now: at the end it would be too late to refuse the path.
    let file = arguments.log.as_deref().map(create).transpose()?;
    let kernel_timestamps = kernel_timestamps(arguments.kernel_timestamps)?;
    let congestion_control = congestion_control(arguments.congestion_control.as_deref())?;
    let manner = Manner { delay, status, body, seed, kernel_timestamps, congestion_control };
    let server = Server::listen(listen, manner)
        .map_err(|error| Failure::question(format!("listening on {listen}: {error}")))?;
    let server = match arguments.numbered_rate {
        Some(rate) => server.expecting(rate),
        None => server,
    };
    let server = match file {
        Some(_) => server.recording(Record::new(arguments.log_bytes)),
        None => server,
    };
    output::result(&format!("ready http://{}\n", server.address()))?;
    if arguments.while_stdin {
        end_with_stdin(stop.clone());
    }
    let mut log = server.serve(&stop);
    if let Some(file) = file {
        write(&mut log, file)
            .map_err(|error| Failure::no_answer(format!("writing --log: {error}")))?;
    }
    output::result(&format!("{log}\n"))?;
    Ok(Exit::Answered)
}

fn create(path: &Path) -> Result<File, Failure> {
    let created = output::create(path);
    created.map_err(|error| Failure::question(format!("--log {}: {error}", path.display())))
}

fn write(log: &mut Log, file: File) -> io::Result<()> {
    let record = log.record.as_mut().expect("the server records if --log is given");
    record.write(&mut BufWriter::new(file))
}

/// Sets `stop` once standard input ends.
fn end_with_stdin(stop: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        // An error counts as the end.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        stop.store(true, Ordering::Relaxed);
    });
}
