//! Classifies an error of the HTTP client by walking its chain of causes.
//!
//! Pure. Only types and kinds are examined, never messages.

use super::names::LookupError;
use crate::host::Proximity;
use holon_domain::attempt::HttpErrorDetails;
use holon_domain::model::ModelFailureKind as Kind;
use std::error::Error;
use std::io;

/// Classifies an error of a connection to a host at this distance.
pub(super) fn kind(error: &reqwest::Error, proximity: Proximity) -> Kind {
    // This comes first: to the client, a name lookup that took too long is also a timeout.
    if unknown_name(error).is_some() {
        return unresolved(proximity);
    }
    if error.is_timeout() {
        return Kind::Timeout;
    }
    let found = chain(error).find_map(|cause| kind_of_cause(cause, proximity));
    found.unwrap_or_else(|| {
        if error.is_builder() {
            Kind::InvalidRequest
        } else if error.is_body() || error.is_decode() {
            Kind::NotJson
        } else {
            Kind::Connection
        }
    })
}

/// Returns the failed name lookup among the causes, if there is one.
pub(super) fn unknown_name<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e LookupError> {
    chain(error).find_map(|cause| cause.downcast_ref())
}

/// Chooses the class of an unreachable host. Within this machine there is no network that could be down.
const fn unreachable(proximity: Proximity) -> Kind {
    match proximity {
        Proximity::Loopback => Kind::Connection,
        Proximity::Private | Proximity::Public => Kind::Network,
    }
}

/// Chooses the class of a name that could not be looked up. A name of the own network is unknown while its machine is
/// off; the network may be fine, and waiting for it would keep the fallback from being asked.
const fn unresolved(proximity: Proximity) -> Kind {
    match proximity {
        Proximity::Loopback | Proximity::Private => Kind::Connection,
        Proximity::Public => Kind::Network,
    }
}

/// Copies the client's error flags for the diagnostics.
pub(super) fn facts(error: &reqwest::Error) -> HttpErrorDetails {
    HttpErrorDetails {
        is_timeout: error.is_timeout(),
        is_connect: error.is_connect(),
        is_request: error.is_request(),
        is_body: error.is_body(),
        is_decode: error.is_decode(),
        is_redirect: error.is_redirect(),
        status: error.status().map(|status| status.as_u16()),
    }
}

/// Iterates over an error and its causes, outermost first.
pub(super) fn chain<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        within(error).or_else(|| error.source())
    })
}

/// Returns the error inside an I/O error; `source` would skip it and return the source of the inner one.
fn within<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>()?.get_ref()?;
    Some(wrapped)
}

fn kind_of_cause(cause: &(dyn Error + 'static), proximity: Proximity) -> Option<Kind> {
    if cause.is::<rustls::Error>() {
        return Some(Kind::Connection);
    }
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return kind_of_hyper(error);
    }
    kind_of_io(cause.downcast_ref::<io::Error>()?.kind(), proximity)
}

fn kind_of_hyper(error: &hyper::Error) -> Option<Kind> {
    if error.is_timeout() {
        Some(Kind::Timeout)
    } else if error.is_parse() {
        Some(Kind::NotJson)
    } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        Some(Kind::Connection)
    } else {
        None
    }
}

fn kind_of_io(kind: io::ErrorKind, proximity: Proximity) -> Option<Kind> {
    match kind {
        io::ErrorKind::NetworkDown | io::ErrorKind::NetworkUnreachable => {
            Some(unreachable(proximity))
        }
        io::ErrorKind::HostUnreachable | io::ErrorKind::AddrNotAvailable => Some(match proximity {
            // A neighbouring host that is switched off does not mean that the network is down, and waiting will not
            // switch it on.
            Proximity::Loopback | Proximity::Private => Kind::Connection,
            Proximity::Public => Kind::Network,
        }),
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

    /// An error that wraps another, as clients do.
    #[derive(Debug, thiserror::Error)]
    #[error("something failed")]
    struct Outer(#[source] io::Error);

    fn found(error: &(dyn Error + 'static), proximity: Proximity) -> Option<Kind> {
        chain(error).find_map(|cause| kind_of_cause(cause, proximity))
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
            (io::ErrorKind::AddrNotAvailable, Some(Kind::Network)),
            (io::ErrorKind::NetworkDown, Some(Kind::Network)),
            (io::ErrorKind::TimedOut, Some(Kind::Timeout)),
            (io::ErrorKind::InvalidData, None),
        ] {
            let deep = Outer(io::Error::other(Outer(kind.into())));
            assert_eq!(found(&deep, Proximity::Public), expected, "{kind:?}");
        }
    }

    #[test]
    fn an_unreachable_private_host_is_a_connection_failure_and_no_route_is_a_network_failure() {
        use io::ErrorKind::{AddrNotAvailable, HostUnreachable, NetworkDown, NetworkUnreachable};
        for kind in [HostUnreachable, AddrNotAvailable] {
            let error = Outer(kind.into());
            assert_eq!(found(&error, Proximity::Private), Some(Kind::Connection));
            assert_eq!(found(&error, Proximity::Loopback), Some(Kind::Connection));
        }
        for kind in [NetworkDown, NetworkUnreachable] {
            let error = Outer(kind.into());
            assert_eq!(found(&error, Proximity::Private), Some(Kind::Network));
            assert_eq!(found(&error, Proximity::Loopback), Some(Kind::Connection));
        }
    }

    #[test]
    fn a_name_that_could_not_be_looked_up_is_found_however_deep_it_lies() {
        let failure = LookupError {
            name: "api.example.com".to_owned(),
            source: io::ErrorKind::TimedOut.into(),
        };
        let deep = Outer(io::Error::other(failure));
        assert_eq!(
            unknown_name(&deep).map(|failure| failure.name.as_str()),
            Some("api.example.com")
        );
        assert_eq!(unresolved(Proximity::Private), Kind::Connection);
        assert_eq!(unresolved(Proximity::Loopback), Kind::Connection);
        assert_eq!(unresolved(Proximity::Public), Kind::Network);
    }

    #[test]
    fn an_untrusted_certificate_is_a_failed_connection() {
        let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let io = io::Error::new(io::ErrorKind::InvalidData, tls);
        assert_eq!(found(&Outer(io), Proximity::Public), Some(Kind::Connection));
    }
}
