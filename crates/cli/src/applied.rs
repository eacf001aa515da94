//! Telling a running host that the files of its home were changed, and what came of it.

use crate::host;
use serde::Serialize;
use std::path::Path;

/// How a change of the home's files became known to whoever uses them.
#[derive(Debug, Serialize)]
pub(crate) struct Applied {
    /// `daemon` when a running host has taken it over, `offline_store` when it is only on disk.
    applied_via: &'static str,
    /// Why a running host has not taken it over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host_refused: Option<String>,
    /// Settings that count from the host's next start on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    restart_needed: Vec<String>,
}

impl Applied {
    /// What is to be said about it, if anything.
    pub(crate) fn remark(&self) -> Option<String> {
        if let Some(reason) = &self.host_refused {
            return Some(format!(
                "the running host did not take it over: {reason}\nnext: correct that and run: holon config doctor"
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

/// Tells the host of a home, if there is one, that its files changed.
pub(crate) async fn apply(home: &Path) -> Applied {
    let on_disk = |host_refused| Applied {
        applied_via: OFFLINE,
        host_refused,
        restart_needed: Vec::new(),
    };
    match host::client(home).reload().await {
        Ok(done) => Applied {
            applied_via: DAEMON,
            host_refused: None,
            restart_needed: done.restart_needed,
        },
        Err(holon_client::Error::Unreachable { .. }) => on_disk(None),
        Err(other) => on_disk(Some(other.to_string())),
    }
}
