//! The target of a comparison: a server that is started for one run and ended after it.

use std::fs;
use std::process::{Command, Stdio};

use super::super::machine::{self, Machine, Process, Server, Side};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    Reference,
    Nginx,
    /// nginx with a self-signed certificate.
    NginxTls,
    /// nginx that answers a JSON document with a token.
    NginxJson,
}

/// A response that begins a session.
const JSON: &str = r#"{"user":"ann","token":"0123456789abcdef0123456789abcdef","items":[1,2,3]}"#;

pub(super) enum Serving {
    Reference(Server),
    Nginx { url: String, _process: Process },
}

impl Target {
    pub(super) fn name(self) -> &'static str {
        match self {
            Target::Reference => "reference server",
            Target::Nginx => "nginx",
            Target::NginxTls => "https on nginx",
            Target::NginxJson => "JSON from nginx",
        }
    }

    /// Starts it on the server's CPU, and waits until it listens.
    pub(super) fn start(self, machine: &Machine) -> Result<Serving, String> {
        match self {
            Target::Reference => Ok(Serving::Reference(Server::start(machine, &[])?)),
            Target::Nginx => nginx(machine, "http", ";", "hello"),
            Target::NginxTls => nginx(machine, "https", &certificate()?, "hello"),
            Target::NginxJson => nginx(machine, "http", ";", JSON),
        }
    }
}

impl Serving {
    pub(super) fn url(&self) -> &str {
        match self {
            Serving::Reference(server) => &server.url,
            Serving::Nginx { url, .. } => url,
        }
    }

    /// Ends the server; returns how many requests it saw, if it reports that.
    pub(super) fn end(self) -> Result<Option<f64>, String> {
        match self {
            Serving::Reference(server) => Ok(server.end()?["requests"].as_f64()),
            Serving::Nginx { .. } => Ok(None),
        }
    }
}

/// Starts the distribution's nginx as one process, with a response about as short as the reference
/// server's; `listening` are its directives for the scheme.
fn nginx(machine: &Machine, scheme: &str, listening: &str, body: &str) -> Result<Serving, String> {
    let folder = machine::scratch();
    let path = folder.display();
    let port = machine::free_port();
    let address = format!("127.0.0.1:{port}");
    let config = format!(
        "daemon off; master_process off; pid \"{path}/nginx.pid\"; error_log stderr crit;\n\
         worker_rlimit_nofile 16384; events {{ worker_connections 8192; }}\n\
         http {{\n\
           access_log off; keepalive_requests 1000000000; server_tokens off;\n\
           client_body_temp_path \"{path}/a\"; proxy_temp_path \"{path}/b\";\n\
           fastcgi_temp_path \"{path}/c\"; uwsgi_temp_path \"{path}/d\"; scgi_temp_path \"{path}/e\";\n\
           server {{ listen {address} backlog=4096{listening} location / {{ return 200 '{body}'; }} }} }}"
    );
    let file = folder.join("nginx.conf");
    fs::write(&file, config).map_err(|error| format!("writing {}: {error}", file.display()))?;
    let mut command = machine.command(Side::Server, "nginx");
    command.arg("-p").arg(&folder).arg("-c").arg(&file);
    let process = Process::start(command.stdin(Stdio::null()))?;
    machine::wait_until_it_listens(port, "nginx")?;
    Ok(Serving::Nginx { url: format!("{scheme}://{address}/"), _process: process })
}

/// Makes a certificate, and returns nginx's directives for it.
fn certificate() -> Result<String, String> {
    let folder = machine::scratch();
    let path = folder.display();
    let mut openssl = Command::new("openssl");
    openssl.args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes".split(' '));
    openssl.args("-days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1".split(' '));
    openssl.arg("-keyout").arg(folder.join("key.pem")).arg("-out").arg(folder.join("cert.pem"));
    let made = openssl.stderr(Stdio::null()).status();
    match made.map_err(|error| format!("starting openssl: {error}"))?.success() {
        true => Ok(format!(
            " ssl; ssl_protocols TLSv1.2 TLSv1.3;\n\
             ssl_certificate \"{path}/cert.pem\"; ssl_certificate_key \"{path}/key.pem\";"
        )),
        false => Err("openssl could not make a certificate".to_owned()),
    }
}
