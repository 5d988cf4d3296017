//! The verification of servers by certificates that the user names.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::terms::Pem;

/// A verifier that trusts the issuers with the given certificates, and like curl also a server that
/// shows one of them itself: `openssl req -x509` makes such a certificate for an issuer, which
/// others refuse as a server's. Its names and its time are checked in any case.
#[derive(Debug)]
pub(super) struct Given {
    certificates: Vec<CertificateDer<'static>>,
    issuers: Arc<WebPkiServerVerifier>,
}

impl Given {
    pub(super) fn read(pem: &Pem, provider: &Arc<CryptoProvider>) -> Result<Given, String> {
        let name = &pem.name;
        let certificates = pem.certificates()?;
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            let added = roots.add(certificate.clone());
            added.map_err(|error| format!("{name}: is not an issuer's certificate: {error}"))?;
        }
        let issuers =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        let issuers = issuers.build().map_err(|error| format!("{name}: {error}"))?;
        Ok(Given { certificates, issuers })
    }
}

impl ServerCertVerifier for Given {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.issuers.verify_server_cert(certificate, intermediates, name, ocsp_response, now);
        let Err(Error::InvalidCertificate(error)) = &verified else { return verified };
        if !self.certificates.contains(certificate) {
            return verified;
        }
        // The time was checked before the issuer, and the name after it.
        let names = match is_about_issuer(error) {
            true => verify_server_name(&ParsedCertificate::try_from(certificate)?, name),
            false => Err(Error::InvalidCertificate(error.clone())),
        };
        match names {
            Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext {
                presented,
                ..
            })) if presented.is_empty() && common_name_is(certificate, name) => {}
            names => names?,
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.issuers.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.issuers.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.issuers.supported_verify_schemes()
    }
}

/// True for the errors that say that a certificate has no issuer that is trusted, or is an issuer's
/// own.
fn is_about_issuer(error: &CertificateError) -> bool {
    match error {
        CertificateError::UnknownIssuer => true,
        CertificateError::Other(error) => error.to_string() == "CaUsedAsEndEntity",
        _ => false,
    }
}

/// Returns true if the common name of the subject is the server's, which counts in a certificate
/// without other names.
fn common_name_is(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> bool {
    let common_name = common_name(certificate).and_then(|name| std::str::from_utf8(name).ok());
    common_name.is_some_and(|common| common.eq_ignore_ascii_case(&name.to_str()))
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;
/// The object identifier 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// Returns the last common name in the subject of a certificate (RFC 5280 §4.1).
fn common_name<'a>(certificate: &'a CertificateDer<'_>) -> Option<&'a [u8]> {
    let (_, whole, _) = element(certificate)?;
    let (_, mut fields, _) = element(whole)?;
    if fields.first() == Some(&VERSION) {
        fields = element(fields)?.2;
    }
    // The serial number, the algorithm, the issuer and the validity come before the subject.
    for _ in 0..4 {
        fields = element(fields)?.2;
    }
    let (_, mut subject, _) = element(fields)?;
    let mut found = None;
    while let Some((SET, set, rest)) = element(subject) {
        subject = rest;
        if let Some((SEQUENCE, pair, _)) = element(set)
            && let Some((_, kind, value)) = element(pair)
            && kind == COMMON_NAME
        {
            found = element(value).map(|(_, text, _)| text);
        }
    }
    found
}

/// Splits the first element off DER text: its tag, its content, and what follows it.
fn element(text: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, text) = text.split_first()?;
    let (&first, text) = text.split_first()?;
    let (length, text) = match usize::from(first) {
        short @ 0..0x80 => (short, text),
        long => {
            let (length, text) = text.split_at_checked(long - 0x80)?;
            let length = length.iter().try_fold(0usize, |length, &byte| {
                length.checked_mul(256)?.checked_add(usize::from(byte))
            });
            (length?, text)
        }
    };
    let (content, rest) = text.split_at_checked(length)?;
    Some((tag, content, rest))
}
