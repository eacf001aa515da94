//! What commands about settings found, as it is printed in JSON or put into words by `render`.

use crate::applied::Applied;
use holon_config::DoctorReport;
use holon_daemon::Probe;
use holon_domain::model::ModelRef;
use serde::Serialize;

/// A setting with the value that counts.
#[derive(Debug, Serialize)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) value: serde_json::Value,
    pub(crate) source: &'static str,
}

/// What came of asking one model.
#[derive(Debug, Serialize)]
pub(crate) struct Probed {
    pub(crate) model: String,
    pub(crate) ok: bool,
    pub(crate) latency_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure_kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl From<Probe> for Probed {
    fn from(probe: Probe) -> Self {
        let failure = probe.answered.err();
        Self {
            model: probe.model.to_string(),
            ok: failure.is_none(),
            latency_ms: probe.latency_ms,
            failure_kind: failure.as_ref().map(|failure| failure.kind.as_str()),
            error: failure.map(|failure| failure.message),
        }
    }
}

/// The report, and what came of asking.
#[derive(Serialize)]
pub(crate) struct Diagnosis {
    #[serde(flatten)]
    pub(crate) report: DoctorReport,
    pub(crate) waiting_failure_kinds: Vec<String>,
    /// What is amiss with the store of the home.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) store_findings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) probes: Vec<Probed>,
}

/// A model that may work.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Candidate {
    /// Which.
    pub(crate) model: String,
    /// How it was found.
    pub(crate) from: String,
}

impl Candidate {
    /// The one somebody named.
    pub(crate) fn named(model: &ModelRef) -> Self {
        Self {
            model: model.to_string(),
            from: "your choice".to_owned(),
        }
    }
}

/// What was found, tried and set.
#[derive(Debug, Serialize)]
pub(crate) struct Setup {
    pub(crate) ok: bool,
    /// The model that is set now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Whether this command set it.
    pub(crate) set: bool,
    /// What there is, in the order it was looked at.
    pub(crate) found: Vec<Candidate>,
    /// What came of asking.
    pub(crate) probes: Vec<Probed>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) applied: Option<Applied>,
    /// How to get a model, when there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ways: Vec<String>,
    /// What to do next.
    pub(crate) next: Vec<String>,
}
