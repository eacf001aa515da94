//! What a start and a stop do about a home, decided from what was found there.

use super::found::{ControlAnswer, Found, SocketFound};
use crate::daemon_record::DaemonRecord;
use crate::effective_config::ConfigMarks;
use holon_store::HomeOwner;

/// The reason that a start refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartRefusal {
    /// A host runs with another effective configuration.
    ConfigDiffers,
    /// A host runs that does not say with which configuration.
    ConfigUnknown,
    /// The socket's path is in use by something that is not the home's host.
    SocketTaken,
    /// A process that is no host, such as a single run, owns the home.
    HomeInUse,
}

/// The next step of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartDecision {
    /// Start a host. It replaces stale files itself, once it owns the home.
    Launch,
    /// Report the host that runs already.
    Report,
    /// Wait until the host that owns the home answers, and look again.
    WaitUntilReady,
    /// Wait until the owner is gone, and look again.
    WaitUntilGone,
    Refuse(StartRefusal),
}

/// The next step of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopDecision {
    /// There is no host and nothing of one.
    NothingRuns,
    /// There is no host; the files that a crashed one left are removed.
    CleanUp,
    /// Ask the host over its socket, and signal its process if that does not help.
    Ask,
    /// The owner is ending already.
    WaitUntilGone,
    /// The owner is not known to be a host, so it is not stopped.
    RefuseNoHost,
}

/// The state of a home's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// A host owns the home; it is healthy if it answers.
    Running { healthy: bool },
    /// No process owns the home, and nothing of a host is left.
    Stopped,
    /// No process owns the home, but a host left files behind.
    Stale,
}

/// The host that a start asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedHost {
    /// Fingerprint of its configuration.
    pub fingerprint: String,
    /// Marks of the parts of its configuration.
    pub config_marks: ConfigMarks,
    /// Mark of its token. Absent if it uses the home's own.
    pub token_mark: Option<String>,
}

/// Decides what a start does.
#[must_use]
pub fn decide_start(found: &Found, wanted: &WantedHost) -> StartDecision {
    let Some(owner) = &found.owner else {
        return match found.socket {
            SocketFound::Listening | SocketFound::Foreign => {
                StartDecision::Refuse(StartRefusal::SocketTaken)
            }
            SocketFound::Absent | SocketFound::Stale => StartDecision::Launch,
        };
    };
    if owner.leaving {
        return StartDecision::WaitUntilGone;
    }
    if !is_host(found, owner) {
        return StartDecision::Refuse(StartRefusal::HomeInUse);
    }
    let record = found.record.as_ref().filter(|record| record.is_of(owner));
    match (record, found.control) {
        (Some(record), ControlAnswer::Answered) => match &record.config_fingerprint {
            Some(running) if *running == wanted.fingerprint => judge_token(record, wanted),
            Some(_) => StartDecision::Refuse(StartRefusal::ConfigDiffers),
            None => StartDecision::Refuse(StartRefusal::ConfigUnknown),
        },
        (None, _) | (_, ControlAnswer::Unasked | ControlAnswer::Silent) => {
            StartDecision::WaitUntilReady
        }
    }
}

/// Decides about a host with the configuration that is asked for, by its token.
fn judge_token(record: &DaemonRecord, wanted: &WantedHost) -> StartDecision {
    match (&record.token_mark, &wanted.token_mark) {
        (_, None) => StartDecision::Report,
        (Some(running), Some(wanted)) if running == wanted => StartDecision::Report,
        (Some(_), Some(_)) => StartDecision::Refuse(StartRefusal::ConfigDiffers),
        (None, Some(_)) => StartDecision::Refuse(StartRefusal::ConfigUnknown),
    }
}

/// Decides what a stop does.
#[must_use]
pub fn decide_stop(found: &Found) -> StopDecision {
    let Some(owner) = &found.owner else {
        return if found.has_stale_files() {
            StopDecision::CleanUp
        } else {
            StopDecision::NothingRuns
        };
    };
    if !is_host(found, owner) {
        StopDecision::RefuseNoHost
    } else if owner.leaving {
        StopDecision::WaitUntilGone
    } else {
        StopDecision::Ask
    }
}

/// Returns the state of the home's host.
#[must_use]
pub fn health(found: &Found) -> Health {
    match &found.owner {
        Some(owner) if is_host(found, owner) => Health::Running {
            healthy: found.control == ControlAnswer::Answered,
        },
        None if found.has_stale_files() => Health::Stale,
        Some(_) | None => Health::Stopped,
    }
}

/// Returns true if the owner is a host: it says so in the lock file, or has written its record.
fn is_host(found: &Found, owner: &HomeOwner) -> bool {
    let has_record = found
        .record
        .as_ref()
        .is_some_and(|record| record.is_of(owner));
    owner.is_host || has_record
}

#[cfg(test)]
mod tests {
    use super::*;
    use ControlAnswer::{Answered, Silent, Unasked};
    use SocketFound::{Absent, Foreign, Listening, Stale};
    use StartDecision::{Launch, Refuse, Report, WaitUntilGone, WaitUntilReady};

    /// An owner as a word: `no`, `host`, `run` (a single run), `leaving`, `old` (a host of an earlier build).
    fn owner(word: &str) -> Option<HomeOwner> {
        let owner = HomeOwner {
            pid: 7,
            started: Some(70),
            is_host: matches!(word, "host" | "leaving"),
            leaving: word == "leaving",
        };
        (word != "no").then_some(owner)
    }

    /// A record as a word: `no`, `mine`, `other` (another configuration), `silent` (no fingerprint), `reused` (of an
    /// earlier process with the same id).
    fn record(word: &str) -> Option<DaemonRecord> {
        let text = r#"{"pid":7,"home_dir":"/h","socket_path":"/h/run/holon.sock",
            "http_addr":"127.0.0.1:1","started_at":"2026-01-01T00:00:00Z"}"#;
        let mut record: DaemonRecord = serde_json::from_str(text).unwrap();
        record.process_started = Some(if word == "reused" { 60 } else { 70 });
        record.config_fingerprint = match word {
            "other" => Some("b".to_owned()),
            "silent" => None,
            _ => Some("a".to_owned()),
        };
        (word != "no").then_some(record)
    }

    fn found(row: (&str, &str, SocketFound, ControlAnswer)) -> Found {
        Found {
            owner: owner(row.0),
            record: record(row.1),
            socket: row.2,
            socket_path: "/h/run/holon.sock".into(),
            control: row.3,
        }
    }

    #[test]
    fn what_a_start_does_about_what_it_finds() {
        for (row, decided) in [
            (("no", "no", Absent, Unasked), Launch),
            (("no", "mine", Stale, Unasked), Launch),
            (("no", "other", Stale, Unasked), Launch),
            (("no", "no", Stale, Unasked), Launch),
            (
                ("no", "no", Listening, Unasked),
                Refuse(StartRefusal::SocketTaken),
            ),
            (
                ("no", "mine", Foreign, Unasked),
                Refuse(StartRefusal::SocketTaken),
            ),
            (("host", "mine", Listening, Answered), Report),
            (
                ("host", "other", Listening, Answered),
                Refuse(StartRefusal::ConfigDiffers),
            ),
            (
                ("host", "silent", Listening, Answered),
                Refuse(StartRefusal::ConfigUnknown),
            ),
            (("host", "mine", Listening, Silent), WaitUntilReady),
            (("host", "mine", Absent, Unasked), WaitUntilReady),
            (("host", "no", Absent, Unasked), WaitUntilReady),
            (("host", "no", Listening, Answered), WaitUntilReady),
            (("host", "reused", Listening, Answered), WaitUntilReady),
            (("leaving", "mine", Listening, Answered), WaitUntilGone),
            (("leaving", "no", Absent, Unasked), WaitUntilGone),
            (
                ("run", "no", Absent, Unasked),
                Refuse(StartRefusal::HomeInUse),
            ),
            (
                ("run", "reused", Stale, Unasked),
                Refuse(StartRefusal::HomeInUse),
            ),
            (
                ("old", "silent", Listening, Answered),
                Refuse(StartRefusal::ConfigUnknown),
            ),
        ] {
            let wanted = WantedHost {
                fingerprint: "a".to_owned(),
                config_marks: ConfigMarks::default(),
                token_mark: None,
            };
            assert_eq!(decide_start(&found(row), &wanted), decided, "{row:?}");
        }
    }

    #[test]
    fn a_host_with_another_token_is_not_the_one_that_is_asked_for() {
        let differs = Refuse(StartRefusal::ConfigDiffers);
        for (running, wanted, decided) in [
            (None, None, Report),
            (Some("m"), Some("m"), Report),
            (Some("m"), Some("n"), differs),
            (Some("m"), Some(""), differs),
            (None, Some("m"), Refuse(StartRefusal::ConfigUnknown)),
        ] {
            let mut found = found(("host", "mine", Listening, Answered));
            if let Some(record) = &mut found.record {
                record.token_mark = running.map(str::to_owned);
            }
            let wanted = WantedHost {
                fingerprint: "a".to_owned(),
                config_marks: ConfigMarks::default(),
                token_mark: wanted.map(str::to_owned),
            };
            let row = (running, wanted.clone());
            assert_eq!(decide_start(&found, &wanted), decided, "{row:?}");
        }
    }

    #[test]
    fn what_a_stop_does_about_what_it_finds() {
        for (row, decided) in [
            (("no", "no", Absent, Unasked), StopDecision::NothingRuns),
            (("no", "mine", Absent, Unasked), StopDecision::CleanUp),
            (("no", "no", Stale, Unasked), StopDecision::CleanUp),
            (("no", "no", Listening, Unasked), StopDecision::NothingRuns),
            (("no", "no", Foreign, Unasked), StopDecision::NothingRuns),
            (("host", "mine", Listening, Answered), StopDecision::Ask),
            (("host", "no", Absent, Silent), StopDecision::Ask),
            (("old", "mine", Listening, Answered), StopDecision::Ask),
            (
                ("leaving", "mine", Listening, Silent),
                StopDecision::WaitUntilGone,
            ),
            (("run", "no", Absent, Unasked), StopDecision::RefuseNoHost),
            (
                ("run", "reused", Stale, Unasked),
                StopDecision::RefuseNoHost,
            ),
        ] {
            assert_eq!(decide_stop(&found(row)), decided, "{row:?}");
        }
    }

    #[test]
    fn the_state_of_a_host_follows_from_what_is_found() {
        for (row, state) in [
            (("no", "no", Absent, Unasked), Health::Stopped),
            (("no", "no", Listening, Unasked), Health::Stopped),
            (("no", "mine", Absent, Unasked), Health::Stale),
            (("no", "no", Stale, Unasked), Health::Stale),
            (("run", "no", Stale, Unasked), Health::Stopped),
            (
                ("host", "mine", Listening, Answered),
                Health::Running { healthy: true },
            ),
            (
                ("host", "no", Absent, Silent),
                Health::Running { healthy: false },
            ),
        ] {
            assert_eq!(health(&found(row)), state, "{row:?}");
        }
    }
}
