//! Messages for TLS errors, each with the remedy.

use rustls::{AlertDescription, CertificateError, Error};

use super::Stage;
use crate::driver::Outcome;

/// Returns the outcome of a TLS error. Before the peer has sent data of its own, the error counts
/// as a failure to connect.
pub(super) fn outcome(stage: Stage, error: &Error) -> Outcome {
    match (stage, error) {
        (Stage::Securing | Stage::Secured, _) => Outcome::Connect,
        (Stage::Served, Error::AlertReceived(_)) => Outcome::Reset,
        (Stage::Served, _) => Outcome::Malformed,
    }
}

/// Returns the message; the protocol has these names for ALPN.
pub(super) fn of(error: &Error, alpn: &[&[u8]]) -> &'static str {
    match error {
        Error::InvalidCertificate(error) => certificate(error),
        Error::AlertReceived(AlertDescription::NoApplicationProtocol) => match alpn {
            [b"http/1.1"] => "it does not speak HTTP/1.1",
            _ => "it speaks no protocol that was offered (ALPN)",
        },
        Error::AlertReceived(alert) => refusal(*alert),
        Error::PeerIncompatible(_) => {
            "no TLS version or cipher in common; --tls may exclude the target's version"
        }
        Error::InvalidMessage(_) | Error::PeerSentOversizedRecord => {
            "it does not speak TLS; if this is its plain port, load it as http://"
        }
        Error::NoCertificatesPresented => "its certificate is missing; continue with --insecure",
        Error::DecryptError => "it sent a record that cannot be decrypted",
        Error::PeerMisbehaved(_)
        | Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. } => "it violates the TLS protocol",
        _ => "the TLS handshake failed",
    }
}

fn certificate(error: &CertificateError) -> &'static str {
    use CertificateError as E;
    match error {
        E::Expired | E::ExpiredContext { .. } => {
            "its certificate has expired; renew it, or continue with --insecure"
        }
        E::NotValidYet | E::NotValidYetContext { .. } => {
            "its certificate is not valid yet; check this machine's clock, or continue with \
             --insecure"
        }
        E::NotValidForName | E::NotValidForNameContext { .. } => {
            "its certificate is for another name; give that with --sni, or continue with \
             --insecure"
        }
        E::UnknownIssuer => {
            "its certificate's issuer is unknown; name it with --ca FILE, or continue with \
             --insecure"
        }
        E::BadSignature => {
            "its certificate is not signed by the trusted issuer of this name; name the one that \
             signed it with --ca FILE, or continue with --insecure"
        }
        E::Revoked => "its certificate was revoked; continue with --insecure",
        // Also the self-signed one that `openssl req -x509` makes, which says that it is an authority's.
        _ => {
            "its certificate is self-signed, not a server certificate, or malformed; if you trust it, name it \
             with --ca FILE, or continue with --insecure"
        }
    }
}

/// Returns the message for an alert from the peer.
fn refusal(alert: AlertDescription) -> &'static str {
    use AlertDescription as A;
    match alert {
        A::CertificateRequired | A::NoCertificate => {
            "it requires a client certificate; give one with --cert and --key"
        }
        A::HandshakeFailure => {
            "it refuses the handshake: no cipher in common, or it requires a client certificate \
             (--cert)"
        }
        A::BadCertificate
        | A::UnsupportedCertificate
        | A::CertificateRevoked
        | A::CertificateExpired
        | A::CertificateUnknown
        | A::UnknownCA
        | A::AccessDenied => "it does not accept our certificate (--cert)",
        A::ProtocolVersion => "it speaks another TLS version; --tls may exclude that",
        A::UnrecognisedName => "it does not know the requested name; give another one with --sni",
        _ => "it ended TLS with an alert",
    }
}
