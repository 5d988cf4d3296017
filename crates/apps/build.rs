//! Generates Rust code for the messages and services in `proto/`, without an installed `protoc`.

use std::fmt::Write;
use std::io::Error;

use prost_build::{Config, Service, ServiceGenerator};

const FILES: [&str; 10] = [
    "attractions.proto",
    "geo.proto",
    "profile.proto",
    "rate.proto",
    "recommendation.proto",
    "reservation.proto",
    "review.proto",
    "search.proto",
    "store.proto",
    "user.proto",
];

fn main() -> Result<(), Error> {
    println!("cargo::rerun-if-changed=proto");
    let described = protox::compile(FILES, ["proto"]).map_err(Error::other)?;
    Config::new()
        .service_generator(Box::new(Stubs))
        .type_attribute("store.CountsReply", "#[derive(serde::Serialize)]")
        .compile_fds(described)
}

/// A generator that writes, for each service, a trait, an implementation of the trait that calls
/// replicas in other processes, and the function that a server calls. Every call has one request
/// and one reply.
struct Stubs;

impl ServiceGenerator for Stubs {
    fn generate(&mut self, service: Service, out: &mut String) {
        let name = &service.name;
        let (mut declared, mut asked, mut answered) = (String::new(), String::new(), String::new());
        for method in &service.methods {
            assert!(!method.client_streaming && !method.server_streaming, "calls are unary");
            let (method, path) = (
                method,
                format!("/{}.{}/{}", service.package, service.proto_name, method.proto_name),
            );
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
            impl {name} for crate::hotel::api::Remote {{ {asked} }}

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
