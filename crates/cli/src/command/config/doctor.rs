//! `holon config doctor`: what can be asked, what happens when it fails, and the one thing to do next.

use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::{render, settings};
use holon_config::{DoctorReport, Env, Settings};
use holon_daemon::Probe;
use holon_domain::model::ModelRef;
use serde::Serialize;
use std::path::PathBuf;

/// How closely to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// At what is on this machine.
    Look,
    /// And ask each model something.
    Probe,
}

impl Depth {
    pub(super) const fn of(probe: bool) -> Self {
        if probe { Self::Probe } else { Self::Look }
    }
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

/// Asks each of these models something tiny.
pub(crate) async fn probe(
    settings: &Settings,
    models: &[ModelRef],
) -> Result<Vec<Probed>, Failure> {
    let probes = holon_daemon::probe(settings, models).await?;
    Ok(probes.into_iter().map(Probed::from).collect())
}

/// The report, and what came of asking.
#[derive(Serialize)]
pub(crate) struct Diagnosis {
    #[serde(flatten)]
    pub(crate) report: DoctorReport,
    pub(crate) waiting_failure_kinds: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) probes: Vec<Probed>,
}

/// Looks, and asks if it is to.
pub(super) async fn run(
    home: Option<PathBuf>,
    depth: Depth,
    output: &Output,
) -> Result<Exit, Failure> {
    let settings = settings::of(home)?;
    let mut report = holon_config::doctor(
        &settings,
        &Env::from_process(),
        holon_daemon::wall_clock(),
        holon_daemon::retry_policy(),
    );
    let usable: Vec<ModelRef> = settings
        .model_chain()
        .into_iter()
        .zip(&report.model_availability)
        .filter(|(_, found)| found.available)
        .map(|(model, _)| model)
        .collect();
    let probes = match depth {
        Depth::Look => Vec::new(),
        Depth::Probe => probe(&settings, &usable).await?,
    };
    judge(&mut report, &probes);
    let diagnosis = Diagnosis {
        report,
        waiting_failure_kinds: holon_daemon::waiting_failure_kinds(),
        probes,
    };
    output.answer(&diagnosis, render::config::doctor);
    Ok(if diagnosis.report.can_work {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// What was asked counts more than what was seen.
fn judge(report: &mut DoctorReport, probes: &[Probed]) {
    for provider in &mut report.providers {
        let asked = |probe: &Probed| probe.model.split('/').next() == Some(&provider.provider);
        if probes.iter().any(asked) {
            provider.not_tried = None;
        }
    }
    let Some(first) = probes.first().filter(|probe| !probe.ok) else {
        return;
    };
    let why = first.error.as_deref().unwrap_or_default();
    match probes.iter().find(|probe| probe.ok) {
        Some(other) => {
            report.next_step = format!(
                "agents work with {}, because {} did not answer: {why}",
                other.model, first.model
            );
        }
        None => {
            report.can_work = false;
            report.next_step = format!("{} did not answer: {why}", first.model);
        }
    }
}
