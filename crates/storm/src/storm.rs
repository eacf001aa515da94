//! The storm itself: starts a host, kills it or a shim when the plan says so, and starts the next one.

use crate::Fallible;
use crate::clients::{self, Crew, Weather};
use crate::host::Host;
use crate::plan::{Moment, Stream, Victim};
use crate::process;
use holon_api::ControlAction;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// How long a live shim is waited for when one is to be killed.
const SHIM_PATIENCE: Duration = Duration::from_millis(500);
/// Pause between two looks for a live shim.
const SHIM_LOOK: Duration = Duration::from_millis(5);

/// What the storm did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Damage {
    pub(crate) host_kills: u64,
    /// Of those, before the host answered or right after.
    pub(crate) recovery_kills: u64,
    /// Of those, before it answered.
    pub(crate) start_kills: u64,
    /// While the host went down in order, or when it just had.
    pub(crate) shutdown_kills: u64,
    /// Right after every agent was asked to stop.
    pub(crate) stop_kills: u64,
    pub(crate) shim_kills: u64,
    /// Planned, but no command was running.
    pub(crate) shims_missed: u64,
    /// From start to first answer, of every host that came that far.
    pub(crate) healthy_after: Vec<Duration>,
}

/// A storm under way.
#[derive(Debug)]
pub(crate) struct Storm<'a> {
    crew: &'a Crew,
    /// The next kill of the plan.
    next: u64,
    kills: u64,
    /// The last host was killed right after they were stopped.
    are_agents_stopped: bool,
    pub(crate) damage: Damage,
}

impl<'a> Storm<'a> {
    pub(crate) fn new(crew: &'a Crew, kills: u64) -> Self {
        Self {
            crew,
            next: 0,
            kills,
            are_agents_stopped: false,
            damage: Damage::default(),
        }
    }

    /// Carries out all kills, beginning with a host that serves; returns the host that is left standing.
    pub(crate) async fn rage(&mut self, host: Host) -> Fallible<Host> {
        let mut host = Some(host);
        loop {
            if let Some(living) = host.take() {
                self.damage.healthy_after.push(living.healthy_after);
                self.crew.weather.send_replace(Weather::Up);
                self.crew.book.note("the host serves");
                if self.are_agents_stopped {
                    self.control_all(ControlAction::Start).await;
                    self.are_agents_stopped = false;
                }
                if let Some(survivor) = self.batter(living).await? {
                    return Ok(survivor);
                }
            }
            let kill_at = self.planned_start_kill();
            host = Host::start(&self.crew.world, kill_at).await?;
            if host.is_none() {
                self.take_next();
                self.damage.host_kills += 1;
                self.damage.recovery_kills += 1;
                self.damage.start_kills += 1;
            }
        }
    }

    /// The number of the next kill, which is due now.
    fn take_next(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        self.crew.kills_done.store(number, Ordering::SeqCst);
        let kill = self.crew.plan.kill(number);
        self.crew
            .book
            .note(&format!("kill {number} is due: {kill:?}"));
        number
    }

    /// When a host that is started now has to be killed, should it not serve by then.
    fn planned_start_kill(&self) -> Option<Duration> {
        if self.next == self.kills {
            return None;
        }
        match self.crew.plan.kill(self.next).moment {
            Moment::Starting(after) => Some(after),
            Moment::Recovering(_) | Moment::Serving(_) => None,
        }
    }

    /// Goes through the plan until this host is killed; returns it when the plan is at its end.
    async fn batter(&mut self, mut host: Host) -> Fallible<Option<Host>> {
        let served_since = Instant::now();
        while self.next < self.kills {
            let number = self.take_next();
            let kill = self.crew.plan.kill(number);
            let until = match kill.moment {
                // It was to die before it served, and was faster.
                Moment::Starting(_) => Instant::now(),
                Moment::Recovering(after) => served_since + after,
                Moment::Serving(after) => Instant::now() + after,
            };
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                error = host.ended() => return Err(error),
            }
            match kill.victim {
                Victim::Shim => self.kill_shim(number, SHIM_PATIENCE).await,
                Victim::Host => return self.kill_host(host, kill.moment).await,
                Victim::HostGoingDown(after) => {
                    host.ask_to_go_down()?;
                    tokio::time::sleep(after).await;
                    self.damage.shutdown_kills += 1;
                    return self.kill_host(host, kill.moment).await;
                }
                Victim::HostAfterStops(after) => {
                    let stop = self.control_all(ControlAction::Stop);
                    // Some are stopped, some are not, and some do not know.
                    drop(tokio::time::timeout(after, stop).await);
                    self.are_agents_stopped = true;
                    self.damage.stop_kills += 1;
                    return self.kill_host(host, kill.moment).await;
                }
                Victim::HostThenShim => {
                    let none = self.kill_host(host, kill.moment).await?;
                    self.kill_shim(number, Duration::ZERO).await;
                    return Ok(none);
                }
            }
        }
        Ok(Some(host))
    }

    async fn control_all(&self, action: ControlAction) {
        let agents = self.crew.agents_at_work();
        clients::control_all(&self.crew.world.client(), agents, action).await;
    }

    async fn kill_host(&mut self, host: Host, moment: Moment) -> Fallible<Option<Host>> {
        self.crew.weather.send_replace(Weather::Down);
        host.kill().await?;
        self.crew.book.note("the host is killed");
        self.damage.host_kills += 1;
        let recovering = !matches!(moment, Moment::Serving(_));
        self.damage.recovery_kills += u64::from(recovering);
        Ok(None)
    }

    /// Kills the shim of one running command, which is waited for this long.
    async fn kill_shim(&mut self, number: u64, patience: Duration) {
        let mut rng = self.crew.plan.rng(Stream::Shim, number);
        let deadline = Instant::now() + patience;
        let home = self.crew.world.home();
        loop {
            let live: Vec<PathBuf> = process::supervised(&home);
            let picked = live.get(rng.index(live.len()));
            if picked.is_some_and(|dir| process::kill_shim(dir)) {
                self.damage.shim_kills += 1;
                self.crew
                    .book
                    .note(&format!("a shim is killed: {picked:?}"));
                return;
            }
            if Instant::now() >= deadline {
                self.damage.shims_missed += 1;
                return;
            }
            tokio::time::sleep(SHIM_LOOK).await;
        }
    }
}
