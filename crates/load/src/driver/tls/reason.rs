//! What went wrong, in words that end in the remedy.

use rustls::{AlertDescription, CertificateError, Error};

use super::Stage;
use crate::driver::Outcome;

/// Before the peer has sent anything of its own the connection never came to be.
pub(super) fn outcome(stage: Stage, error: &Error) -> Outcome {
    match (stage, error) {
        (Stage::Securing | Stage::Secured, _) => Outcome::Connect,
        (Stage::Served, Error::AlertReceived(_)) => Outcome::Reset,
        (Stage::Served, _) => Outcome::Malformed,
    }
}

pub(super) fn of(error: &Error) -> &'static str {
    match error {
        Error::InvalidCertificate(error) => certificate(error),
        Error::AlertReceived(alert) => refusal(*alert),
        Error::PeerIncompatible(_) => {
            "no version of TLS or cipher in common; --tls may rule out what the target speaks"
        }
        Error::InvalidMessage(_) | Error::PeerSentOversizedRecord => {
            "it does not speak TLS; is this its plain port? load it as http://"
        }
        Error::NoCertificatesPresented => "its certificate is missing; go on with --insecure",
        Error::DecryptError => "it sent a record that cannot be decrypted",
        Error::PeerMisbehaved(_)
        | Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. } => "it breaks the rules of TLS",
        _ => "the TLS handshake failed",
    }
}

fn certificate(error: &CertificateError) -> &'static str {
    use CertificateError as E;
    match error {
        E::Expired | E::ExpiredContext { .. } => {
            "its certificate has expired; renew it, or go on with --insecure"
        }
        E::NotValidYet | E::NotValidYetContext { .. } => {
            "its certificate is not valid yet; look at this machine's clock, or go on with \
             --insecure"
        }
        E::NotValidForName | E::NotValidForNameContext { .. } => {
            "its certificate is for another name; give that with --sni, or go on with --insecure"
        }
        E::UnknownIssuer => {
            "its certificate's issuer is unknown; name it with --ca FILE, or go on with --insecure"
        }
        E::BadSignature => "its certificate's signature is wrong; go on with --insecure",
        E::Revoked => "its certificate was revoked; go on with --insecure",
        _ => "its certificate is not one of a server, or of an unknown form; go on with --insecure",
    }
}

/// What the peer says against us.
fn refusal(alert: AlertDescription) -> &'static str {
    use AlertDescription as A;
    match alert {
        A::CertificateRequired | A::NoCertificate => {
            "it wants a certificate of ours; give it with --cert and --key"
        }
        A::HandshakeFailure => {
            "it refuses the handshake: no cipher in common, or it wants a certificate of ours \
             (--cert)"
        }
        A::BadCertificate
        | A::UnsupportedCertificate
        | A::CertificateRevoked
        | A::CertificateExpired
        | A::CertificateUnknown
        | A::UnknownCA
        | A::AccessDenied => "it does not accept our certificate (--cert)",
        A::ProtocolVersion => "it speaks another version of TLS; --tls may rule it out",
        A::UnrecognisedName => "it does not know the name it was asked for; give one with --sni",
        A::NoApplicationProtocol => "it does not speak HTTP/1.1",
        _ => "it broke TLS off with an alert",
    }
}
