//! On what terms connections are secured: decided once, before the load.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConfig, ResolvesClientCert, Resumption};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::time_provider::TimeProvider;
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme, version};

use super::sessions::Sessions;

/// What was asked for.
#[derive(Clone)]
pub struct Terms {
    pub trust: Trust,
    /// Who we are, to a peer that asks.
    pub identity: Option<Identity>,
    /// `None` takes the highest that the peer speaks.
    pub version: Option<Version>,
    /// Whether later connections resume sessions of earlier ones.
    pub resume: bool,
    /// The wall clock, in seconds since 1970: certificates and tickets expire by it.
    pub now: fn() -> u64,
}

/// Whose word for the peer's name is taken.
#[derive(Clone)]
pub enum Trust {
    /// These certificates' (DER); those that cannot be read do not count.
    System(Vec<Vec<u8>>),
    /// Only the certificates' in this PEM text.
    Issuers(Vec<u8>),
    /// Nothing is verified.
    Anyone,
}

/// A certificate and what belongs to it, as PEM texts.
#[derive(Clone)]
pub struct Identity {
    /// Ours first, then those that lead to its issuer.
    pub certificates: Vec<u8>,
    pub key: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Version {
    V1_2,
    V1_3,
}

/// Terms that were checked, ready to be used by every pool.
#[derive(Clone, Debug)]
pub struct Tls {
    config: ClientConfig,
    resume: bool,
}

impl Tls {
    /// Fails, with the remedy, if the terms cannot be kept.
    pub fn new(terms: &Terms) -> Result<Tls, String> {
        let versions: &[&rustls::SupportedProtocolVersion] = match terms.version {
            None => &[&version::TLS13, &version::TLS12],
            Some(Version::V1_2) => &[&version::TLS12],
            Some(Version::V1_3) => &[&version::TLS13],
        };
        let provider = Arc::new(ring::default_provider());
        let clock = Arc::new(Clock(terms.now));
        let builder = ClientConfig::builder_with_details(Arc::clone(&provider), clock)
            .with_protocol_versions(versions)
            .expect("the provider has ciphers of both versions");
        let builder = match &terms.trust {
            Trust::System(certificates) => builder.with_root_certificates(system(certificates)?),
            Trust::Issuers(pem) => builder.with_root_certificates(issuers(pem)?),
            Trust::Anyone => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone { provider }))
            }
        };
        let mut config = match &terms.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (certificates, key) = identity.read()?;
                builder
                    .with_client_auth_cert(certificates, key)
                    .map_err(|error| format!("the key does not fit the certificate: {error}"))?
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = Resumption::disabled();
        Ok(Tls { config, resume: terms.resume })
    }

    /// With the sessions of a pool of so many slots, and whether its peer wants a certificate of
    /// ours: pools share nothing.
    pub(super) fn of_pool(&self, slots: usize) -> (Arc<ClientConfig>, Arc<AtomicBool>) {
        let mut config = self.config.clone();
        if self.resume {
            config.resumption = Resumption::store(Arc::new(Sessions::new(slots)));
        }
        let wanted = Arc::new(AtomicBool::new(false));
        let certificates = Arc::clone(&config.client_auth_cert_resolver);
        config.client_auth_cert_resolver =
            Arc::new(Certificates { certificates, wanted: Arc::clone(&wanted) });
        (Arc::new(config), wanted)
    }
}

/// Our certificates, and whether they were asked for.
#[derive(Debug)]
struct Certificates {
    certificates: Arc<dyn ResolvesClientCert>,
    wanted: Arc<AtomicBool>,
}

impl ResolvesClientCert for Certificates {
    fn resolve(&self, issuers: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.wanted.store(true, Ordering::Relaxed);
        self.certificates.resolve(issuers, schemes)
    }

    fn has_certs(&self) -> bool {
        self.certificates.has_certs()
    }
}

fn system(certificates: &[Vec<u8>]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let certificates = certificates.iter().map(|bytes| CertificateDer::from(bytes.clone()));
    let (usable, _) = roots.add_parsable_certificates(certificates);
    match usable {
        0 => Err("this machine knows no issuers of certificates\n  \
                  install ca-certificates, name one with --ca, or go on with --insecure"
            .to_owned()),
        _ => Ok(roots),
    }
}

fn issuers(pem: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem)? {
        roots.add(certificate).map_err(|error| format!("is no issuer's certificate: {error}"))?;
    }
    Ok(roots)
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates.map_err(|error| format!("is no PEM text: {error}"))?;
    match certificates[..] {
        [] => Err("holds no certificate (-----BEGIN CERTIFICATE-----)".to_owned()),
        _ => Ok(certificates),
    }
}

impl Identity {
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
        let certificates = certificates(&self.certificates)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|_| "holds no private key (-----BEGIN PRIVATE KEY-----)".to_owned())?;
        Ok((certificates, key))
    }
}

/// The wall clock, passed in.
struct Clock(fn() -> u64);

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs((self.0)())))
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Takes every peer for the one that is meant, whatever its certificate is.
#[derive(Debug)]
struct Anyone {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
