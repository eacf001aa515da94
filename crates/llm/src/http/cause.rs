//! What an error of the HTTP client means, found by walking the errors that caused it.
//!
//! Pure. The client's own words are not searched; only types and kinds count.

use super::client::NameFailure;
use holon_domain::attempt::HttpErrorFacts;
use holon_domain::model::ModelFailureKind as Kind;
use std::error::Error;
use std::io;

/// The class of an error.
pub(super) fn kind(error: &reqwest::Error) -> Kind {
    if error.is_timeout() {
        return Kind::Timeout;
    }
    chain(error).find_map(kind_of_cause).unwrap_or_else(|| {
        if error.is_builder() {
            Kind::InvalidRequest
        } else if error.is_body() || error.is_decode() {
            Kind::InvalidResponse
        } else {
            Kind::Connection
        }
    })
}

/// What the client says of its error, flag by flag.
pub(super) fn facts(error: &reqwest::Error) -> HttpErrorFacts {
    HttpErrorFacts {
        is_timeout: error.is_timeout(),
        is_connect: error.is_connect(),
        is_request: error.is_request(),
        is_body: error.is_body(),
        is_decode: error.is_decode(),
        is_redirect: error.is_redirect(),
        status: error.status().map(|status| status.as_u16()),
    }
}

/// An error and what caused it, outermost first.
pub(super) fn chain<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        within(error).or_else(|| error.source())
    })
}

/// An I/O error's source is the source of what it wraps; what it wraps must be asked for.
fn within<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>()?.get_ref()?;
    Some(wrapped)
}

fn kind_of_cause(cause: &(dyn Error + 'static)) -> Option<Kind> {
    if cause.is::<NameFailure>() {
        return Some(Kind::Network);
    }
    if cause.is::<rustls::Error>() {
        return Some(Kind::Connection);
    }
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return kind_of_hyper(error);
    }
    kind_of_io(cause.downcast_ref::<io::Error>()?.kind())
}

fn kind_of_hyper(error: &hyper::Error) -> Option<Kind> {
    if error.is_timeout() {
        Some(Kind::Timeout)
    } else if error.is_parse() {
        Some(Kind::InvalidResponse)
    } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        Some(Kind::Connection)
    } else {
        None
    }
}

fn kind_of_io(kind: io::ErrorKind) -> Option<Kind> {
    match kind {
        io::ErrorKind::NetworkDown
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::AddrNotAvailable => Some(Kind::Network),
        io::ErrorKind::TimedOut => Some(Kind::Timeout),
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::NotConnected
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => Some(Kind::Connection),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error that only wraps another, as clients do.
    #[derive(Debug, thiserror::Error)]
    #[error("something failed")]
    struct Outer(#[source] io::Error);

    fn found(error: &(dyn Error + 'static)) -> Option<Kind> {
        chain(error).find_map(kind_of_cause)
    }

    #[test]
    fn the_kind_of_an_io_error_decides_however_deep_it_lies() {
        for (kind, expected) in [
            (io::ErrorKind::ConnectionRefused, Some(Kind::Connection)),
            (io::ErrorKind::ConnectionReset, Some(Kind::Connection)),
            (io::ErrorKind::ConnectionAborted, Some(Kind::Connection)),
            (io::ErrorKind::BrokenPipe, Some(Kind::Connection)),
            (io::ErrorKind::UnexpectedEof, Some(Kind::Connection)),
            (io::ErrorKind::NetworkUnreachable, Some(Kind::Network)),
            (io::ErrorKind::HostUnreachable, Some(Kind::Network)),
            (io::ErrorKind::NetworkDown, Some(Kind::Network)),
            (io::ErrorKind::TimedOut, Some(Kind::Timeout)),
            (io::ErrorKind::InvalidData, None),
        ] {
            let deep = Outer(io::Error::other(Outer(kind.into())));
            assert_eq!(found(&deep), expected, "{kind:?}");
        }
    }

    #[test]
    fn a_name_that_cannot_be_looked_up_is_the_networks_fault() {
        let failure = NameFailure {
            name: "api.example.com".to_owned(),
            source: io::Error::other("failed to lookup address information"),
        };
        assert_eq!(
            found(&Outer(io::Error::other(failure))),
            Some(Kind::Network)
        );
    }

    #[test]
    fn a_certificate_nobody_trusts_is_a_failed_connection() {
        let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let io = io::Error::new(io::ErrorKind::InvalidData, tls);
        assert_eq!(found(&Outer(io)), Some(Kind::Connection));
    }
}
