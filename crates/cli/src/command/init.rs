//! `holon init`: finds a model on this machine, probes it, sets it as the default and prints the next steps.
//!
//! It replaces an existing choice only with `--force`. Its one question is about fallbacks, on a terminal.

mod fallbacks;
mod find;

use crate::addressing::hint;
use crate::args::InitArgs;
use crate::command::config::probe;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};
use crate::report::{Candidate, InitReport, ProbeResult};
use crate::{path, reload, render, settings};
use fallbacks::Consent;
use holon_config::{Settings, Source, edit};
use holon_domain::model::ModelRef;
use std::path::PathBuf;

/// Treatment of candidates before one is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbeMode {
    /// Sends each candidate a request; one that fails is not set.
    Probe,
    /// Sets the first candidate without a request.
    Skip,
}

/// Finds, probes and sets a model, and prints the report.
pub(super) async fn run(
    home: Option<PathBuf>,
    args: InitArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let InitArgs {
        model,
        force,
        no_probe,
        fallbacks,
    } = args;
    let wanted = model.map(|text| parse_model(&text)).transpose()?;
    let settings = settings::load_home(home)?;
    let mode = if no_probe {
        ProbeMode::Skip
    } else {
        ProbeMode::Probe
    };
    let kept = match (force, model_in_file(&settings)?) {
        (false, Some(set)) => Some(keep_model(&set, wanted.as_ref())?),
        (_, _) => None,
    };
    let (mut report, consent) = match kept {
        // Nothing of a choice that was made is in question, unless a flag says so.
        Some(report) if !fallbacks => {
            output.answer(&report, render::init::report);
            return Ok(Exit::Done);
        }
        Some(report) => (report, Consent::Given),
        None => {
            let found = match &wanted {
                Some(model) => vec![Candidate::named(model)],
                None => find::candidates(&settings).await?,
            };
            let report = probe_and_set(&settings, found, mode).await?;
            (report, Consent::of(fallbacks, output))
        }
    };
    // A model that was named is the only one to choose; others are looked for if they may become fallbacks.
    let looks_again = report.model.is_some() && (wanted.is_some() || !report.set);
    if fallbacks && looks_again {
        report.found.extend(find::candidates(&settings).await?);
    }
    fallbacks::propose(&settings, &mut report, consent, mode, force, output).await?;
    if report.set || !report.fallbacks.is_empty() {
        report.applied = Some(reload::reload_host(&settings.home.value).await);
    }
    let exit = match (&report.model, &report.applied) {
        (Some(_), Some(applied)) if applied.host_refused.is_none() => Exit::Done,
        (Some(_), None) => Exit::Done,
        (Some(_) | None, Some(_) | None) => Exit::Failed,
    };
    match (exit, output.format()) {
        // Standard output carries answers only, so a failure is told on standard error.
        (Exit::Failed, Format::Text) => output.note(&render::init::report(&report)),
        (_, Format::Text | Format::Json) => output.answer(&report, render::init::report),
    }
    Ok(exit)
}

fn parse_model(text: &str) -> Result<ModelRef, Failure> {
    let text = path::model("--model", text)?;
    ModelRef::parse(&text).map_err(|error| Failure::usage(error.to_string()))
}

/// Returns the model that the settings file names, also if the environment names another for now.
fn model_in_file(settings: &Settings) -> Result<Option<ModelRef>, Failure> {
    let stored = edit::get(&settings.home.value, "model.default")?;
    let Some((_, model)) = stored.into_iter().next() else {
        return Ok(None);
    };
    let model = ModelRef::parse(&model.to_string());
    model
        .map(Some)
        .map_err(|error| Failure::usage(error.to_string()))
}

/// Reports an existing choice, which is kept. Fails if the operator named another model.
fn keep_model(set: &ModelRef, wanted: Option<&ModelRef>) -> Result<InitReport, Failure> {
    let change =
        "replace it with: holon init --force, or: holon config set model.default PROVIDER/MODEL";
    if wanted.is_some_and(|wanted| wanted != set) {
        let message = format!("model.default is {set} already; nothing was changed");
        return Err(Failure::new(Exit::Failed, "already_set", message).hint(change));
    }
    Ok(InitReport {
        ok: true,
        model: Some(set.to_string()),
        set: false,
        fallbacks: Vec::new(),
        found: Vec::new(),
        probes: Vec::new(),
        applied: None,
        ways: Vec::new(),
        next: vec![
            hint(change),
            hint("try it with: holon config doctor --probe"),
        ],
    })
}

/// Probes the candidates in order and sets the first that answers.
async fn probe_and_set(
    settings: &Settings,
    found: Vec<Candidate>,
    mode: ProbeMode,
) -> Result<InitReport, Failure> {
    let mut probes = Vec::new();
    let mut chosen = None;
    for candidate in &found {
        let model = parse_model(&candidate.model)?;
        let answered = match mode {
            ProbeMode::Skip => true,
            ProbeMode::Probe => {
                let asked = probe(settings, std::slice::from_ref(&model)).await?;
                let answered = asked.iter().all(|probe| probe.ok);
                probes.extend(asked);
                answered
            }
        };
        if answered {
            chosen = Some(model);
            break;
        }
    }
    let Some(model) = chosen else {
        return Ok(no_model_report(found, probes));
    };
    let home = &settings.home.value;
    edit::set(home, "model.default", &model.to_string())?;
    Ok(InitReport {
        ok: true,
        model: Some(model.to_string()),
        set: true,
        fallbacks: Vec::new(),
        found,
        probes,
        applied: None,
        ways: Vec::new(),
        next: next_steps(settings),
    })
}

fn next_steps(settings: &Settings) -> Vec<String> {
    let mut next = vec![
        hint("ask something: holon run \"What is in this directory?\" --workspace-root ."),
        hint("or run a host: holon daemon start"),
    ];
    if let Some(model) = &settings.model
        && model.source == Source::Environment
    {
        next.insert(
            0,
            format!(
                "HOLON_MODEL is set to {} and goes before it; unset it first",
                model.value
            ),
        );
    }
    next
}

fn no_model_report(found: Vec<Candidate>, probes: Vec<ProbeResult>) -> InitReport {
    let (ways, next) = if found.is_empty() {
        (
            WAYS.as_slice(),
            "then run: holon init; to see Holon at work without any of them: holon demo",
        )
    } else {
        (
            [].as_slice(),
            "correct that and run: holon init; add --no-probe to set a model without asking it; without a model: holon demo",
        )
    };
    InitReport {
        ok: false,
        model: None,
        set: false,
        fallbacks: Vec::new(),
        found,
        probes,
        applied: None,
        ways: ways.iter().copied().map(hint).collect(),
        next: vec![hint(next)],
    }
}

/// Ways to get a model, shown if none was found.
const WAYS: [&str; 3] = [
    "a key: export OPENAI_API_KEY or ANTHROPIC_API_KEY, or store one: holon config credentials set openai",
    "a login: install the Codex program and run: codex login",
    "a local server: start Ollama, LM Studio, llama.cpp or vLLM with a model that can use tools",
];
