//! Driving a scenario to its end, with a new host whenever the old one was killed.

use super::host::{Crash, Host};
use holon_client::Error;
use holon_testkit::World;

/// What a client does with a host, and what must be true when it is done.
pub(super) trait Scenario {
    /// Points it passes before it does anything of its own.
    const BEFORE: u64;

    /// Writes what it needs into its world.
    fn new(world: &World) -> Self;
    /// Goes on to the end, from wherever it was when the last host was killed.
    fn go_on(&mut self, host: &Host) -> impl Future<Output = Result<(), Error>>;
    /// Looks at what is left when everything has settled.
    fn judge(&self, world: &World, what: &str);
}

/// How far a scenario got.
#[derive(Debug)]
pub(super) struct Drive<S> {
    pub(super) scenario: S,
    /// How often the host was killed.
    pub(super) deaths: u32,
}

impl<S: Scenario> Drive<S> {
    pub(super) fn new(world: &World) -> Self {
        Self {
            scenario: S::new(world),
            deaths: 0,
        }
    }

    /// Goes on to the end, with a new host whenever the old one was killed.
    pub(super) async fn finish(&mut self, world: &World, host: Option<Host>) {
        let mut host = host;
        self.deaths += u32::from(host.is_none());
        loop {
            let living = match host.take() {
                Some(living) => living,
                None => Host::start(world, &Crash::Never).expect("a host nobody kills"),
            };
            match self.scenario.go_on(&living).await {
                Ok(()) => return,
                Err(error) => self.bury(world, living, &error),
            }
        }
    }

    /// Goes on until the host is killed; false when it came to the end alive.
    pub(super) async fn until_death(&mut self, world: &World, host: Option<Host>) -> bool {
        let Some(host) = host else {
            self.deaths += 1;
            return true;
        };
        match self.scenario.go_on(&host).await {
            Ok(()) => false,
            Err(error) => {
                self.bury(world, host, &error);
                true
            }
        }
    }

    fn bury(&mut self, world: &World, host: Host, error: &Error) {
        match error {
            Error::Unreachable { .. } | Error::Interrupted { .. } => host.bury(world),
            other => panic!("{other}"),
        }
        self.deaths += 1;
    }
}
