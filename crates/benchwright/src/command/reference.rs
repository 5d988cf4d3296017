//! `benchwright reference`: the server of known delays.

use load::reference::Reference as Server;

use crate::cli::Reference;
use crate::output::{self, Exit, Failure};

pub(crate) fn reference(arguments: &Reference) -> Result<Exit, Failure> {
    let Reference { listen, delay, body, numbered_rate, seed } = *arguments;
    let stop = crate::interrupted();
    net::process::raise_open_files();
    let server = Server::listen(listen, delay, body, seed)
        .map_err(|error| Failure::question(format!("listening on {listen}: {error}")))?;
    let server = match numbered_rate {
        Some(rate) => server.expecting(rate),
        None => server,
    };
    output::result(&format!("ready http://{}\n", server.address()))?;
    let log = server.serve(&stop);
    output::result(&format!("{log}\n"))?;
    Ok(Exit::Answered)
}
