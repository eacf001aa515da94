//! The variables of the service manager and of the user's session.

use crate::env::Env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What the environment says about the manager of this process and the user's directories.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServiceEnv {
    /// Address of the manager's datagram socket; one that begins with `@` is abstract.
    pub notify_socket: Option<OsString>,
    /// Time within which the manager wants a sign of life.
    pub watchdog: Option<Duration>,
    /// Private directory of the user's session; absolute.
    pub runtime_dir: Option<PathBuf>,
    /// Home of the user; absolute.
    pub user_home: Option<PathBuf>,
    /// Directory of the user's settings; absolute.
    pub config_dir: Option<PathBuf>,
}

impl ServiceEnv {
    /// Reads the variables. A relative directory, or a watchdog time that is no number, counts as unset.
    #[must_use]
    pub fn read(env: &Env) -> Self {
        let directory = |name: &str| {
            let path = env.get(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let micros = env
            .get("WATCHDOG_USEC")
            .and_then(|text| text.to_str()?.trim().parse().ok())
            .filter(|micros| *micros > 0);
        Self {
            notify_socket: env.get("NOTIFY_SOCKET"),
            watchdog: micros.map(Duration::from_micros),
            runtime_dir: directory("XDG_RUNTIME_DIR"),
            user_home: directory("HOME"),
            config_dir: directory("XDG_CONFIG_HOME")
                .or_else(|| directory("HOME").map(|home| home.join(".config"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &'static [(&str, &str)]) -> ServiceEnv {
        let lookup = move |name: &str| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        ServiceEnv::read(&Env::from_lookup(lookup, None))
    }

    #[test]
    fn a_service_manager_and_the_directories_of_a_session_are_read() {
        let env = read(&[
            ("NOTIFY_SOCKET", "@manager"),
            ("WATCHDOG_USEC", "30000000"),
            ("XDG_RUNTIME_DIR", "/run/user/1"),
            ("HOME", "/users/u"),
        ]);
        assert_eq!(env.notify_socket, Some("@manager".into()));
        assert_eq!(env.watchdog, Some(Duration::from_secs(30)));
        assert_eq!(env.runtime_dir, Some("/run/user/1".into()));
        assert_eq!(env.config_dir, Some("/users/u/.config".into()));
    }

    #[test]
    fn what_cannot_be_used_counts_as_unset() {
        let env = read(&[("WATCHDOG_USEC", "0"), ("XDG_RUNTIME_DIR", "run")]);
        assert_eq!(env, ServiceEnv::default());
        assert_eq!(read(&[("WATCHDOG_USEC", "soon")]), ServiceEnv::default());
    }
}
