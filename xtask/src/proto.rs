//! Generates the Rust code for the messages and services in `crates/apps/proto`, without an installed
//! `protoc`. It is kept in the repository, so that a build of the applications needs no compiler of
//! protocol buffers.
//!
//! Each folder there belongs to an application. Its files are compiled apart from all others, into a
//! module of their own, so two applications may use the same names.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::fs;
use std::io::Error;
use std::path::Path;

use prost_build::{Config, Service, ServiceGenerator};

use crate::repository;

/// The folder of the generated code.
pub(crate) const GENERATED: &str = "crates/apps/generated";

pub(crate) fn run() -> bool {
    let folder = repository::root().join(GENERATED);
    let removed = if folder.exists() { fs::remove_dir_all(&folder) } else { Ok(()) };
    let generated = removed.and_then(|()| write(&folder));
    generated.inspect_err(|error| eprintln!("proto: {error}")).is_ok()
}

/// Writes the code of all applications to a folder, which is empty or not there.
pub(crate) fn write(folder: &Path) -> Result<(), Error> {
    let proto = repository::root().join("crates/apps/proto");
    for application in names(&proto)? {
        compile(&proto.join(&application), &folder.join(&application))?;
    }
    Ok(())
}

/// Compiles the files of one application; `mod.rs` contains a module for each of their packages.
fn compile(application: &Path, out: &Path) -> Result<(), Error> {
    let mut files = names(application)?;
    // An editor may keep its own files beside them.
    files.retain(|name| Path::new(name).extension() == Some(OsStr::new("proto")));
    let described = protox::compile(files, [application]).map_err(Error::other)?;
    fs::create_dir_all(out)?;
    Config::new()
        .out_dir(out)
        .include_file("mod.rs")
        .service_generator(Box::new(Stubs))
        // Bytes are shared with the message that they came in.
        .bytes(["."])
        // A frontend may answer with any message as JSON.
        .type_attribute(".", "#[derive(serde::Serialize)]")
        .compile_fds(described)
}

/// Returns the names in a folder, in the same order on every machine.
fn names(folder: &Path) -> Result<Vec<OsString>, Error> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
    let mut names = entries.collect::<Result<Vec<_>, Error>>()?;
    names.sort();
    Ok(names)
}

/// A generator that writes, for each service, a trait, an implementation of the trait that calls
/// replicas in other processes, and the function that a server calls. Every call has one request
/// and one reply.
struct Stubs;

impl ServiceGenerator for Stubs {
    fn generate(&mut self, service: Service, out: &mut String) {
        let name = &service.name;
        let path = format!("/{}.{}/", service.package, service.proto_name);
        let (mut declared, mut asked, mut answered) = (String::new(), String::new(), String::new());
        for method in &service.methods {
            assert!(!method.client_streaming && !method.server_streaming, "calls are unary");
            let path = format!("{path}{}", method.proto_name);
            let signature = format!(
                "async fn {}(&self, request: tonic::Request<{}>)
                     -> ::core::result::Result<tonic::Response<{}>, tonic::Status>",
                method.name, method.input_type, method.output_type,
            );
            let name = &method.name;
            for comment in &method.comments.leading {
                writeln!(declared, "///{comment}").expect("a string takes any text");
            }
            writeln!(declared, "{signature};").expect("a string takes any text");
            write!(asked, "{signature} {{ self.0.call({path:?}, request.into_inner()).await }}")
                .expect("a string takes any text");
            write!(
                answered,
                "{path:?} => ::std::boxed::Box::pin(async move {{
                    let request = tonic::Request::new(crate::kit::rpc::message::read(message)?);
                    let reply = service.{name}(request).await?;
                    Ok(crate::kit::rpc::message::framed(&reply.into_inner()))
                }}),",
            )
            .expect("a string takes any text");
        }
        write!(
            out,
            "#[tonic::async_trait]
            pub trait {name}: Send + Sync + 'static {{ {declared} }}

            #[tonic::async_trait]
            impl {name} for crate::kit::rpc::Remote {{ {asked} }}

            /// The beginning of the path of every call.
            pub const PATH: &str = {path:?};

            /// The service as its server calls it: with the path of the call and its message.
            pub fn answering(service: ::std::sync::Arc<dyn {name}>) -> crate::kit::rpc::Answering {{
                ::std::sync::Arc::new(move |path, message| {{
                    let service = ::std::sync::Arc::clone(&service);
                    match path {{ {answered} _ => crate::kit::rpc::unknown(path) }}
                }})
            }}",
        )
        .expect("a string takes any text");
    }
}
