//! The configuration of TLS connections, checked once before the load.

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

use super::given::Given;
use super::sessions::Sessions;

/// The requested configuration.
#[derive(Clone)]
pub struct Terms {
    pub trust: Trust,
    /// Our identity, for a peer that asks for it.
    pub identity: Option<Identity>,
    /// The TLS version; `None` takes the highest that the peer speaks.
    pub version: Option<Version>,
    /// True if later connections resume the sessions of earlier ones.
    pub resume: bool,
    /// The wall clock, in seconds since 1970: certificates and tickets expire by it.
    pub now: fn() -> u64,
}

/// The issuers that are trusted to confirm the peer's name.
#[derive(Clone)]
pub enum Trust {
    /// The issuers with these certificates (DER); unreadable ones are ignored.
    System(Vec<Vec<u8>>),
    /// Only the issuers with these certificates, and servers that show one of them.
    Issuers(Pem),
    /// Nothing is verified.
    Anyone,
}

/// A certificate chain and its key.
#[derive(Clone)]
pub struct Identity {
    /// Ours first, then those that lead to its issuer.
    pub certificates: Pem,
    pub key: Pem,
}

/// A PEM text.
#[derive(Clone)]
pub struct Pem {
    /// Its origin, for error messages: `--ca ca.pem`.
    pub name: String,
    pub text: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Version {
    V1_2,
    V1_3,
}

/// A checked configuration, ready for use by every pool.
#[derive(Clone, Debug)]
pub struct Tls {
    config: ClientConfig,
    resume: bool,
}

impl Tls {
    /// Checks the configuration. Fails, with the remedy, if it cannot be used.
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
            Trust::Issuers(pem) => {
                let verifier = Given::read(pem, &provider)?;
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
            Trust::Anyone => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone { provider }))
            }
        };
        let mut config = match &terms.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let Identity { certificates, key } = identity;
                builder.with_client_auth_cert(certificates.certificates()?, key.key()?).map_err(
                    |error| {
                        let (key, certificates) = (&key.name, &certificates.name);
                        format!(
                            "{key}: the key does not fit the certificate, {certificates}: {error}"
                        )
                    },
                )?
            }
        };
        config.resumption = Resumption::disabled();
        Ok(Tls { config, resume: terms.resume })
    }

    /// Returns the configuration for a pool of this many slots and a protocol with these names,
    /// with its own session store, and a flag that is set when the peer asks for a client
    /// certificate: pools share nothing.
    pub(super) fn of_pool(
        &self,
        slots: usize,
        alpn: &[&[u8]],
    ) -> (Arc<ClientConfig>, Arc<AtomicBool>) {
        let mut config = self.config.clone();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
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

/// A resolver of our certificates that notes whether they were asked for.
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
        0 => Err("this machine has no trusted certificate issuers\n  \
                  install ca-certificates, name one with --ca, or continue with --insecure"
            .to_owned()),
        _ => Ok(roots),
    }
}

impl Pem {
    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        let Pem { name, text } = self;
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
        let certificates =
            certificates.map_err(|error| format!("{name}: is not PEM text: {error}"))?;
        match certificates[..] {
            [] => Err(format!(
                "{name}: contains no certificate; it begins with -----BEGIN CERTIFICATE-----"
            )),
            _ => Ok(certificates),
        }
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, String> {
        let Pem { name, text } = self;
        PrivateKeyDer::from_pem_slice(text).map_err(|_| {
            let encrypted = b"ENCRYPTED";
            match text.windows(encrypted.len()).any(|word| word == encrypted) {
                true => format!("{name}: its key is encrypted; decrypt it with openssl pkey"),
                false => format!(
                    "{name}: contains no private key; it begins with -----BEGIN PRIVATE KEY-----"
                ),
            }
        })
    }
}

/// The wall clock, passed in as a function.
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

/// A verifier that accepts every certificate.
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
