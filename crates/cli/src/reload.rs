//! Makes a running host reload after the files of its home were changed.

use crate::addressing::hint;
use crate::host;
use serde::Serialize;
use std::path::Path;

/// Outcome of a reload after a change of the home's files.
#[derive(Debug, Serialize)]
pub(crate) struct ReloadOutcome {
    /// `daemon` if a running host has loaded the change, `offline_store` if it is only on disk.
    applied_via: &'static str,
    /// Reason for which a running host has not loaded the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host_refused: Option<String>,
    /// Keys of settings that take effect only at the host's next start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    restart_needed: Vec<String>,
}

impl ReloadOutcome {
    /// Returns a remark for people, if there is something to say.
    pub(crate) fn remark(&self) -> Option<String> {
        if let Some(reason) = &self.host_refused {
            let next = hint("next: correct that and run: holon config doctor");
            return Some(format!(
                "the running host did not take it over: {reason}\n{next}"
            ));
        }
        if !self.restart_needed.is_empty() {
            let keys = self.restart_needed.join(", ");
            return Some(format!("counts from the next start of the host on: {keys}"));
        }
        (self.applied_via == DAEMON).then(|| {
            "the running host has taken it over, for turns that begin from now on".to_owned()
        })
    }
}

const DAEMON: &str = "daemon";
const OFFLINE: &str = "offline_store";

/// Asks the host of a home to reload, if one is running.
pub(crate) async fn reload_host(home: &Path) -> ReloadOutcome {
    let on_disk = |host_refused| ReloadOutcome {
        applied_via: OFFLINE,
        host_refused,
        restart_needed: Vec::new(),
    };
    match host::client(home).reload().await {
        Ok(done) => ReloadOutcome {
            applied_via: DAEMON,
            host_refused: None,
            restart_needed: done.restart_needed,
        },
        Err(holon_client::Error::Unreachable { .. }) => on_disk(None),
        Err(other) => on_disk(Some(other.to_string())),
    }
}
