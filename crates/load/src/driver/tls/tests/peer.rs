//! Certificates that are generated on demand, and the configuration of a server with one.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion, version};

/// An authority that signs certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, as PEM texts.
#[derive(Clone)]
pub(crate) struct Certified {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Authority(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Issues a certificate for this name or address; valid through this century.
    pub(crate) fn issue(&self, name: &str) -> Certified {
        self.issue_for(name, 2000, 2100)
    }

    pub(crate) fn issue_for(&self, name: &str, first_year: i32, last_year: i32) -> Certified {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = rcgen::date_time_ymd(first_year, 1, 1);
        params.not_after = rcgen::date_time_ymd(last_year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Certified { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// Returns a self-signed certificate.
pub(crate) fn self_signed(name: &str) -> Certified {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    Certified { certificate: made.cert.pem(), key: made.signing_key.serialize_pem() }
}

/// The behaviour of a server.
pub(crate) struct Manners<'a> {
    pub(crate) versions: &'static [&'static SupportedProtocolVersion],
    /// The authority that must have signed the clients' certificates.
    pub(crate) clients_of: Option<&'a Authority>,
    pub(crate) protocols: &'static [&'static str],
    /// The number of tickets that each connection gets.
    pub(crate) tickets: usize,
}

pub(crate) const ONLY_1_2: &[&SupportedProtocolVersion] = &[&version::TLS12];
pub(crate) const ONLY_1_3: &[&SupportedProtocolVersion] = &[&version::TLS13];

impl Default for Manners<'_> {
    fn default() -> Self {
        Manners {
            versions: rustls::ALL_VERSIONS,
            clients_of: None,
            protocols: &["http/1.1"],
            tickets: 2,
        }
    }
}

impl Manners<'_> {
    pub(crate) fn with(&self, certified: &Certified) -> Arc<ServerConfig> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(self.versions)
            .unwrap();
        let builder = match self.clients_of {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.0.der().clone()).unwrap();
                let roots = Arc::new(roots);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let certificate = CertificateDer::from_pem_slice(certified.certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(certified.key.as_bytes()).unwrap();
        let mut config = builder.with_single_cert(vec![certificate], key).unwrap();
        config.alpn_protocols =
            self.protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.ticketer = ring::Ticketer::new().unwrap();
        config.send_tls13_tickets = self.tickets;
        Arc::new(config)
    }
}
