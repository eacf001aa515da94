//! Proxies of the host's outgoing requests, as its environment names them.

/// Addresses of proxies. They may hold a password, so they are not shown.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ProxyVariables {
    /// Proxy of `http` addresses.
    pub http: Option<String>,
    /// Proxy of `https` addresses.
    pub https: Option<String>,
    /// Proxy of addresses for which there is no other.
    pub all: Option<String>,
    /// Hosts that are reached without a proxy, separated by commas.
    pub except: Option<String>,
}

/// Hosts that are always reached without a proxy: another machine cannot reach this one's loopback.
const LOOPBACK: &str = "localhost,127.0.0.1,::1";

impl std::fmt::Debug for ProxyVariables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProxyVariables").finish_non_exhaustive()
    }
}

impl ProxyVariables {
    /// Returns true if there is a proxy.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.http.is_some() || self.https.is_some() || self.all.is_some()
    }

    /// Returns the hosts that are reached without a proxy.
    #[must_use]
    pub fn exceptions(&self) -> String {
        match &self.except {
            Some(except) => format!("{except},{LOOPBACK}"),
            None => LOOPBACK.to_owned(),
        }
    }

    /// Returns the variables for a program that makes requests for the host. None if there is no proxy.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        if !self.is_set() {
            return Vec::new();
        }
        let proxies = [
            ("http_proxy", &self.http),
            ("https_proxy", &self.https),
            ("all_proxy", &self.all),
        ];
        let named = proxies.into_iter();
        let named = named.filter_map(|(name, proxy)| Some((name, proxy.clone()?)));
        named.chain([("no_proxy", self.exceptions())]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_the_proxies_and_never_one_for_this_machine() {
        assert_eq!(ProxyVariables::default().variables(), []);
        let proxies = ProxyVariables {
            https: Some("http://user:secret@proxy:3128".to_owned()),
            except: Some("intern.example".to_owned()),
            ..ProxyVariables::default()
        };
        let expected = [
            ("https_proxy", "http://user:secret@proxy:3128".to_owned()),
            ("no_proxy", format!("intern.example,{LOOPBACK}")),
        ];
        assert_eq!(proxies.variables(), expected);
        assert!(!format!("{proxies:?}").contains("secret"));
    }
}
