//! `holon config doctor`: availability of models, fallbacks, problems of the store, and the next step.

use super::running::host_chains;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::report::{Diagnosis, LearnedLimit, ProbeResult};
use crate::{render, settings};
use holon_config::{DoctorReport, Env, Settings};
use holon_domain::model::ModelRef;
use std::path::PathBuf;

/// Depth of the examination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Examines only this machine.
    Look,
    /// Also sends a request to each model.
    Probe,
}

impl Depth {
    pub(crate) const fn of(probe: bool) -> Self {
        if probe { Self::Probe } else { Self::Look }
    }
}

/// Sends a tiny request to each of these models.
pub(crate) async fn probe(
    settings: &Settings,
    models: &[ModelRef],
) -> Result<Vec<ProbeResult>, Failure> {
    let probes = holon_daemon::probe(settings, models).await?;
    Ok(probes.into_iter().map(ProbeResult::from).collect())
}

/// Examines the settings and prints the report.
pub(super) async fn run(
    home: Option<PathBuf>,
    depth: Depth,
    output: &Output,
) -> Result<Exit, Failure> {
    let settings = settings::load_home(home)?;
    let (report, probes) = examine_models(&settings, depth).await?;
    let diagnosis = Diagnosis {
        report,
        waiting_failure_kinds: holon_daemon::waiting_failure_kinds(),
        store_findings: holon_daemon::survey(&settings),
        probes,
        learned_limits: holon_daemon::learned_limits(&settings)
            .into_iter()
            .map(|learned| LearnedLimit::new(learned, &settings.providers))
            .collect(),
        running_host: host_chains(&settings.home.value).await,
    };
    output.answer_wrapped(&diagnosis, render::config::doctor);
    Ok(if diagnosis.report.can_work {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// Examines the models of the settings' chain.
pub(crate) async fn examine_models(
    settings: &Settings,
    depth: Depth,
) -> Result<(DoctorReport, Vec<ProbeResult>), Failure> {
    let mut report = holon_config::doctor(
        settings,
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
        Depth::Probe => probe(settings, &usable).await?,
    };
    apply_probes(&mut report, &probes);
    Ok((report, probes))
}

/// Corrects the report by the results of the probes.
fn apply_probes(report: &mut DoctorReport, probes: &[ProbeResult]) {
    for provider in &mut report.providers {
        let asked = |probe: &ProbeResult| probe.model.split('/').next() == Some(&provider.provider);
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
