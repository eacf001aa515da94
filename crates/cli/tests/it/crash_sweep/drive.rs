//! Drives a scenario to its end, with a new host after each kill.

use super::host::{Crash, Host, said};
use holon_client::Error;
use holon_testkit::World;
use std::time::Duration;

/// Longest life of one host in a scenario. None takes a tenth of it.
const PATIENCE: Duration = Duration::from_secs(90);

/// Steps of a client, and the conditions that must hold afterwards.
pub(super) trait Scenario {
    /// Number of crash points before the scenario's own work.
    const BEFORE: u64;

    /// Writes the scenario's files into its world.
    fn new(world: &World) -> Self;
    /// Continues to the end from the step at which the last host was killed.
    fn go_on(&mut self, host: &Host) -> impl Future<Output = Result<(), Error>>;
    /// Checks the final state after everything has settled.
    fn judge(&self, world: &World, what: &str);
}

/// Progress of a scenario over several hosts.
#[derive(Debug)]
pub(super) struct Drive<S> {
    pub(super) scenario: S,
    /// Number of times the host was killed.
    pub(super) deaths: u32,
}

impl<S: Scenario> Drive<S> {
    pub(super) fn new(world: &World) -> Self {
        Self {
            scenario: S::new(world),
            deaths: 0,
        }
    }

    /// Continues to the end, with a new host after each kill.
    pub(super) async fn finish(&mut self, world: &World, host: Option<Host>) {
        let mut host = host;
        self.deaths += u32::from(host.is_none());
        loop {
            let living = match host.take() {
                Some(living) => living,
                None => Host::start(world, &Crash::Never).expect("a host without a crash point"),
            };
            match self.advance(world, &living).await {
                Ok(()) => return,
                Err(error) => self.bury(world, living, &error),
            }
        }
    }

    /// Continues until the end of the scenario or of the host. Panics with the words of a host that is stuck.
    async fn advance(&mut self, world: &World, host: &Host) -> Result<(), Error> {
        let going_on = self.scenario.go_on(host);
        let done = tokio::time::timeout(PATIENCE, going_on).await;
        done.unwrap_or_else(|_| panic!("the host is stuck: {}", said(world)))
    }

    /// Continues until the host is killed; returns false if the scenario ended first.
    pub(super) async fn until_death(&mut self, world: &World, host: Option<Host>) -> bool {
        let Some(host) = host else {
            self.deaths += 1;
            return true;
        };
        match self.advance(world, &host).await {
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
