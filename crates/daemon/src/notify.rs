//! Reports to a service manager by the protocol of `sd_notify`: one datagram for each state.

use holon_config::ServiceEnv;
use std::convert::Infallible;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The host can answer requests.
pub(crate) const READY: &str = "READY=1";
/// The host is ending.
pub(crate) const STOPPING: &str = "STOPPING=1";
/// The host is alive.
const ALIVE: &str = "WATCHDOG=1";

/// The service manager that started this process.
#[derive(Debug)]
pub(crate) struct ServiceManager {
    socket: UnixDatagram,
    address: SocketAddr,
    /// Time within which it wants a sign of life; absent if it wants none.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// Returns the manager that the environment names; `None` if there is none, or if it cannot be reached.
    pub(crate) fn of(env: &ServiceEnv) -> Option<Self> {
        let name = env.notify_socket.as_deref()?;
        match Self::open(name, env.watchdog) {
            Ok(manager) => Some(manager),
            Err(error) => {
                tracing::warn!(%error, "the service manager cannot be told that the host is up");
                None
            }
        }
    }

    fn open(name: &OsStr, watchdog: Option<Duration>) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest)?,
            [b'/', ..] => SocketAddr::from_pathname(name)?,
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "NOTIFY_SOCKET is neither a path nor an abstract name",
                ));
            }
        };
        let socket = UnixDatagram::unbound()?;
        // A manager that does not read must not stop the host.
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            address,
            watchdog,
        })
    }

    /// Reports states, one on each line. A report that cannot be sent is lost; the next one may arrive.
    pub(crate) fn report(&self, states: &str) {
        if let Err(error) = self.socket.send_to_addr(states.as_bytes(), &self.address) {
            tracing::debug!(%error, states, "the service manager was not told");
        }
    }

    /// Reports signs of life until the future is dropped, twice in each period. They come from the runtime that
    /// answers requests, so a runtime that is stuck sends none.
    pub(crate) async fn keep_alive(&self) -> Infallible {
        let Some(watchdog) = self.watchdog else {
            return std::future::pending().await;
        };
        let mut ticks = tokio::time::interval(watchdog / 2);
        loop {
            ticks.tick().await;
            self.report(ALIVE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 256];
        let read = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(buffer.get(..read).unwrap()).into_owned()
    }

    fn env(name: &str, watchdog: Option<Duration>) -> ServiceEnv {
        ServiceEnv {
            notify_socket: Some(name.into()),
            watchdog,
            ..ServiceEnv::default()
        }
    }

    #[test]
    fn a_manager_is_told_at_a_path_and_at_an_abstract_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let at_path = UnixDatagram::bind(&path).unwrap();
        let manager = ServiceManager::of(&env(path.to_str().unwrap(), None)).unwrap();
        manager.report(READY);
        assert_eq!(heard(&at_path), "READY=1");
        let name = format!("holon-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let abstract_one = UnixDatagram::bind_addr(&address).unwrap();
        let manager = ServiceManager::of(&env(&format!("@{name}"), None)).unwrap();
        manager.report(STOPPING);
        assert_eq!(heard(&abstract_one), "STOPPING=1");
    }

    #[test]
    fn without_a_manager_no_report_is_made_and_a_missing_one_is_no_error() {
        assert!(ServiceManager::of(&ServiceEnv::default()).is_none());
        assert!(ServiceManager::of(&env("relative", None)).is_none());
        let gone = ServiceManager::of(&env("/nowhere/notify", None)).unwrap();
        gone.report(READY);
    }

    #[tokio::test(start_paused = true)]
    async fn signs_of_life_come_twice_in_each_period() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        let period = Duration::from_secs(60);
        let manager = ServiceManager::of(&env(path.to_str().unwrap(), Some(period))).unwrap();
        // The first sign comes at once, and then one each half period: at 0, 30, 60, 90 and 120 seconds.
        let watched = 2 * period + Duration::from_secs(1);
        assert!(
            tokio::time::timeout(watched, manager.keep_alive())
                .await
                .is_err()
        );
        let mut signs = 0;
        let mut buffer = [0; 64];
        while let Ok(read) = socket.recv(&mut buffer) {
            assert_eq!(buffer.get(..read), Some(ALIVE.as_bytes()));
            signs += 1;
        }
        assert_eq!(signs, 5);
    }
}
