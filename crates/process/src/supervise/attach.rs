//! Finds a command again after the host was away.

use super::birth_record::BirthRecord;
use super::claim_lock::{self, LockClaim};
use super::client;
use super::line::open_end_channel;
use super::probe::{CommandLocator, probe, unless_running};
use super::shimmed_command::ShimmedCommand;
use crate::record::EndRecord;
use crate::wire::{Answer, Request};
use holon_domain::command::{CommandState, UnknownCause};
use rustix::process::Signal;
use std::time::Duration;

/// Number of checks while the lock is held and the socket is silent: the shim may be starting, or writing its status.
const CHECKS: u32 = 40;
/// Interval between the checks.
const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// Longest time for all checks together: a shim that accepts a connection and never answers would take minutes.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(20);

/// The state of a command that was looked up. If no shim can be asked, [`kept_output`](crate::kept_output) finds its
/// output.
pub type ShimmedState = CommandState<Box<ShimmedCommand>, Box<EndRecord>>;

/// Determines the state of the command of a directory. A command whose shim has not claimed it by now will not start any
/// more, so this must not be called while [`start`](crate::start) of the same command is in progress.
///
/// A missing directory means [`CommandState::NeverStarted`], because no shim claims a command without one. That requires
/// the right path, and that the directory cannot have been lost: the caller must have it on disk before the command is
/// started, must not remove it while the answer matters, and must not create it again. A directory that is older than
/// the current boot, and so may have lost its mark in a power failure, or that contains other traces of a shim, means
/// [`UnknownCause::SupervisorDied`] instead.
///
/// If the shim is dead, what it left of the command's session is killed, as far as it is proven to belong to it.
/// Processes that started their own session cannot be distinguished from unrelated ones.
///
/// A shim that holds its lock and does not answer is alive: its disk may be full at the moment. Its command is
/// [`CommandState::Running`], and [`ShimmedCommand::has_answered`] tells the difference.
pub async fn attach(locator: CommandLocator<'_>) -> ShimmedState {
    attach_within(locator, ATTACH_TIMEOUT).await
}

/// Like [`attach`], with a limit on the time to wait for the shim.
pub async fn attach_within(locator: CommandLocator<'_>, timeout: Duration) -> ShimmedState {
    // Boxed, because it is part of almost every future about a command.
    let polling = Box::pin(claim_lock::with_wakeups(
        locator.claim_dir,
        poll_state(locator),
    ));
    let found = match tokio::time::timeout(timeout, polling).await {
        Ok(Some(found)) => found,
        Ok(None) | Err(_) => state_without_answer(locator).await,
    };
    if matches!(found, CommandState::Unknown(UnknownCause::SupervisorDied))
        && let Some(birth_record) = BirthRecord::read(locator.claim_dir).await
    {
        birth_record.end_orphans().await;
    }
    found
}

/// Checks until the state is known; `None` if the lock is held and the shim has not answered.
async fn poll_state(locator: CommandLocator<'_>) -> Option<ShimmedState> {
    let claim_dir = locator.claim_dir;
    let mut greeting = Greeting::Silence;
    for check in 0..CHECKS {
        if check > 0 {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        match unless_running(probe(claim_dir).await) {
            Some(state) => return Some(state),
            // The command may have suspended its shim. SIGCONT does not affect a running shim.
            None if check == 0 => claim_lock::send(claim_dir, Signal::CONT).await,
            None => {}
        }
        greeting = greet(locator).await;
        if let Greeting::Answered(task) = greeting {
            return Some(CommandState::Running(task));
        }
    }
    match greeting {
        Greeting::Stranger => Some(CommandState::Unknown(UnknownCause::SupervisorSilent)),
        Greeting::Answered(_) | Greeting::Silence => None,
    }
}

/// Returns the state of a command whose shim did not answer. It runs while its lock is held by a shim that has claimed
/// no other command.
async fn state_without_answer(locator: CommandLocator<'_>) -> ShimmedState {
    if let Some(state) = unless_running(probe(locator.claim_dir).await) {
        return state;
    }
    let claim_dir = locator.claim_dir.to_owned();
    let claim = tokio::task::spawn_blocking(move || claim_lock::claim(&claim_dir)).await;
    let is_ours = |claim: &LockClaim| {
        let claimed = claim.task_id.as_deref();
        claimed.is_none_or(|task_id| task_id == locator.task_id)
    };
    match claim {
        Ok(Ok(claim)) if is_ours(&claim) => {
            let birth_record = BirthRecord::read(locator.claim_dir).await;
            CommandState::Running(Box::new(ShimmedCommand::unanswered(
                locator,
                claim.at,
                birth_record,
            )))
        }
        Ok(Ok(_) | Err(_)) | Err(_) => CommandState::Unknown(UnknownCause::SupervisorSilent),
    }
}

/// Result of asking a shim for its identity.
#[derive(Debug)]
pub(super) enum Greeting {
    /// The command's shim answered.
    Answered(Box<ShimmedCommand>),
    /// Another shim answered, or refused the nonce.
    Stranger,
    Silence,
}

/// Asks a shim for its identity, and returns its command if it matches.
pub(super) async fn greet(locator: CommandLocator<'_>) -> Greeting {
    let CommandLocator {
        claim_dir, nonce, ..
    } = locator;
    let identity = match client::exchange(claim_dir, nonce, Request::Hello, &[]).await {
        Ok((Answer::Hello(identity), _)) if identity.task_id == locator.task_id => identity,
        Ok(_) => return Greeting::Stranger,
        Err(_) => return Greeting::Silence,
    };
    match open_end_channel(claim_dir, nonce).await {
        Ok(line) => Greeting::Answered(Box::new(ShimmedCommand::found(locator, identity, line))),
        Err(_) => Greeting::Silence,
    }
}
