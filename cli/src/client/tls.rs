//! Why a connection could not be made safe, and what helps.

use std::error::Error;

use rustls::{AlertDescription, CertificateError, Error as TlsError};

/// What to do about an error of TLS somewhere in a chain of errors; none where there is no such error.
pub fn hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    Some(match cause(error)? {
        // A server that has no other certificate says no more than that it has nothing in common with us.
        TlsError::AlertReceived(AlertDescription::HandshakeFailure)
        | TlsError::InvalidCertificate(
            CertificateError::UnsupportedSignatureAlgorithmContext { .. }
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. },
        ) => {
            "its certificate may be of a kind that this program does not know, such as one of the curve P-521: give it \
             one of RSA, P-256, P-384 or Ed25519"
        }
        TlsError::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "add the issuer of its certificate to those that this machine trusts, or name a file with it in SSL_CERT_FILE"
        }
        TlsError::InvalidCertificate(_) => "mend its certificate, or name the server as that does",
        _ => "see that this is an address of HTTPS",
    })
}

/// Whether it will be the same in a few seconds: the certificate is the one that the server has. Of other errors of TLS
/// nobody knows, such as what a server says that is about to restart.
pub fn is_lasting(error: &(dyn Error + 'static)) -> bool {
    matches!(
        cause(error),
        Some(TlsError::InvalidCertificate(_) | TlsError::AlertReceived(AlertDescription::HandshakeFailure))
    )
}

fn cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e TlsError> {
    super::chain(error).find_map(of_tls)
}

/// An error of TLS, however many errors of streams it is wrapped in.
fn of_tls<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e TlsError> {
    let wrapped = || of_tls(error.downcast_ref::<std::io::Error>()?.get_ref()?);
    error.downcast_ref().or_else(wrapped)
}
