//! The main loop of the storm: starts a host, kills it or a shim as planned, and starts the next one.

use crate::Fallible;
use crate::clients::{self, ClientContext, HostState};
use crate::host::Host;
use crate::plan::{ChoiceKind, Moment, Victim};
use crate::process;
use holon_api::ControlAction;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// Time to wait for a live shim when one is to be killed.
const SHIM_TIMEOUT: Duration = Duration::from_millis(500);
/// Interval between the searches for a live shim.
const SHIM_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Counts of what the storm did.
#[derive(Debug, Clone, Default)]
pub(crate) struct KillCounts {
    pub(crate) host_kills: u64,
    /// Part of `host_kills`: before the first answer or right after it.
    pub(crate) recovery_kills: u64,
    /// Part of `recovery_kills`: before the first answer.
    pub(crate) start_kills: u64,
    /// Part of `host_kills`: during or right after an orderly shutdown.
    pub(crate) shutdown_kills: u64,
    /// Part of `host_kills`: right after every agent was told to stop.
    pub(crate) stop_kills: u64,
    pub(crate) shim_kills: u64,
    /// Planned shim kills that found no running command.
    pub(crate) shims_missed: u64,
    /// Time from start to first answer, of every host that answered.
    pub(crate) healthy_after: Vec<Duration>,
}

/// The state of a running storm.
#[derive(Debug)]
pub(crate) struct Storm<'a> {
    context: &'a ClientContext,
    /// Number of the next kill.
    next: u64,
    kills: u64,
    /// True if the last host was killed right after the agents were told to stop.
    are_agents_stopped: bool,
    pub(crate) counts: KillCounts,
}

impl<'a> Storm<'a> {
    pub(crate) fn new(context: &'a ClientContext, kills: u64) -> Self {
        Self {
            context,
            next: 0,
            kills,
            are_agents_stopped: false,
            counts: KillCounts::default(),
        }
    }

    /// Carries out all kills, starting with a running host. Returns the last host, which is not killed.
    pub(crate) async fn run(&mut self, host: Host) -> Fallible<Host> {
        let mut host = Some(host);
        loop {
            if let Some(living) = host.take() {
                self.counts.healthy_after.push(living.healthy_after);
                self.context.host_state.send_replace(HostState::Up);
                self.context.recorder.note("the host serves");
                if self.are_agents_stopped {
                    self.control_all(ControlAction::Start).await;
                    self.are_agents_stopped = false;
                }
                if let Some(survivor) = self.run_kills(living).await? {
                    return Ok(survivor);
                }
            }
            let kill_at = self.planned_start_kill();
            host = Host::start(&self.context.world, kill_at).await?;
            if host.is_none() {
                self.take_next();
                self.counts.host_kills += 1;
                self.counts.recovery_kills += 1;
                self.counts.start_kills += 1;
            }
        }
    }

    /// Takes the number of the next kill, which is due now.
    fn take_next(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        self.context.kills_done.store(number, Ordering::SeqCst);
        let kill = self.context.plan.kill(number);
        self.context
            .recorder
            .note(&format!("kill {number} is due: {kill:?}"));
        number
    }

    /// Time after its start at which the next host has to be killed if it does not serve by then.
    fn planned_start_kill(&self) -> Option<Duration> {
        if self.next == self.kills {
            return None;
        }
        match self.context.plan.kill(self.next).moment {
            Moment::Starting(after) => Some(after),
            Moment::Recovering(_) | Moment::Serving(_) => None,
        }
    }

    /// Carries out kills until this host is killed. Returns the host if the plan is finished.
    async fn run_kills(&mut self, mut host: Host) -> Fallible<Option<Host>> {
        let served_since = Instant::now();
        while self.next < self.kills {
            let number = self.take_next();
            let kill = self.context.plan.kill(number);
            let until = match kill.moment {
                // The host was to be killed before it served, but was faster.
                Moment::Starting(_) => Instant::now(),
                Moment::Recovering(after) => served_since + after,
                Moment::Serving(after) => Instant::now() + after,
            };
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                error = host.ended() => return Err(error),
            }
            match kill.victim {
                Victim::Shim => self.kill_shim(number, SHIM_TIMEOUT).await,
                Victim::Host => return self.kill_host(host, kill.moment).await,
                Victim::HostGoingDown(after) => {
                    host.request_shutdown()?;
                    tokio::time::sleep(after).await;
                    self.counts.shutdown_kills += 1;
                    return self.kill_host(host, kill.moment).await;
                }
                Victim::HostAfterStops(after) => {
                    let stop = self.control_all(ControlAction::Stop);
                    // Some agents are stopped by then, some are not.
                    drop(tokio::time::timeout(after, stop).await);
                    self.are_agents_stopped = true;
                    self.counts.stop_kills += 1;
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
        let agents = self.context.current_agents();
        clients::control_all(&self.context.world.client(), agents, action).await;
    }

    async fn kill_host(&mut self, host: Host, moment: Moment) -> Fallible<Option<Host>> {
        self.context.host_state.send_replace(HostState::Down);
        host.kill().await?;
        self.context.recorder.note("the host is killed");
        self.counts.host_kills += 1;
        let recovering = !matches!(moment, Moment::Serving(_));
        self.counts.recovery_kills += u64::from(recovering);
        Ok(None)
    }

    /// Kills the shim of one running command, for which it waits this long.
    async fn kill_shim(&mut self, number: u64, timeout: Duration) {
        let mut rng = self.context.plan.rng(ChoiceKind::Shim, number);
        let deadline = Instant::now() + timeout;
        let home = self.context.world.home();
        loop {
            let live: Vec<PathBuf> = process::live_command_dirs(&home);
            let picked = live.get(rng.index(live.len()));
            if picked.is_some_and(|dir| process::kill_shim(dir)) {
                self.counts.shim_kills += 1;
                self.context
                    .recorder
                    .note(&format!("a shim is killed: {picked:?}"));
                return;
            }
            if Instant::now() >= deadline {
                self.counts.shims_missed += 1;
                return;
            }
            tokio::time::sleep(SHIM_POLL_INTERVAL).await;
        }
    }
}
