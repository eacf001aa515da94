//! The proxies of a client, as the host's environment names them.

use holon_domain::proxy::ProxyVariables;
use reqwest::{ClientBuilder, NoProxy, Proxy, Url};
use std::borrow::Cow;

/// Gives a client these proxies and no other.
pub(crate) fn apply(
    builder: ClientBuilder,
    proxies: &ProxyVariables,
) -> Result<ClientBuilder, reqwest::Error> {
    let except = NoProxy::from_string(&proxies.exceptions());
    let mut builder = builder.no_proxy();
    // The first that fits an address is used.
    let address = |text: &Option<String>| {
        let text = text.as_deref();
        let usable = text.filter(|text| unsupported_scheme(text).is_none());
        usable.map(|text| with_scheme(text).into_owned())
    };
    for proxy in [
        address(&proxies.http).map(Proxy::http),
        address(&proxies.https).map(Proxy::https),
        address(&proxies.all).map(Proxy::all),
    ] {
        if let Some(proxy) = proxy.transpose()? {
            builder = builder.proxy(proxy.no_proxy(except.clone()));
        }
    }
    Ok(builder)
}

/// Returns the names of the proxies. The client resolves them itself, and they may be private.
pub(crate) fn hosts(proxies: &ProxyVariables) -> Vec<String> {
    let all = [&proxies.http, &proxies.https, &proxies.all];
    let host = |text: &String| {
        let url = Url::parse(&with_scheme(text)).ok()?;
        url.domain().map(str::to_owned)
    };
    all.into_iter().flatten().filter_map(host).collect()
}

/// Returns each variable whose proxy is skipped, with the scheme that the client does not speak.
#[must_use]
pub fn skipped_proxies(proxies: &ProxyVariables) -> Vec<(&'static str, &str)> {
    let named = [
        ("http_proxy", &proxies.http),
        ("https_proxy", &proxies.https),
        ("all_proxy", &proxies.all),
    ];
    named
        .into_iter()
        .filter_map(|(name, text)| Some((name, unsupported_scheme(text.as_deref()?)?)))
        .collect()
}

/// Returns the scheme of a proxy if the client does not speak it; it would speak HTTP to any server.
fn unsupported_scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://")?;
    let is_known = ["http", "https"].map(|known| scheme.eq_ignore_ascii_case(known));
    (!is_known.contains(&true)).then_some(scheme)
}

/// Completes an address of a proxy without a scheme. Its name alone would read as one: `proxy.example:3128`.
fn with_scheme(text: &str) -> Cow<'_, str> {
    match text.contains("://") {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("http://{text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_of_another_scheme_is_named_without_its_password() {
        let proxies = ProxyVariables {
            http: Some("HTTP://proxy.corp:3128".to_owned()),
            https: Some("proxy.corp:3128".to_owned()),
            all: Some("socks5://user:secret@proxy.corp:1080".to_owned()),
            except: None,
        };
        assert_eq!(skipped_proxies(&proxies), [("all_proxy", "socks5")]);
        assert_eq!(skipped_proxies(&ProxyVariables::default()), []);
    }

    #[test]
    fn the_name_of_a_proxy_is_known_with_and_without_a_scheme() {
        for text in [
            "proxy.corp:3128",
            "proxy.corp",
            "http://proxy.corp:3128",
            "user:secret@proxy.corp:3128",
            "https://user:secret@proxy.corp/",
        ] {
            let proxies = ProxyVariables {
                https: Some(text.to_owned()),
                ..ProxyVariables::default()
            };
            assert_eq!(hosts(&proxies), ["proxy.corp"], "{text}");
        }
    }
}
