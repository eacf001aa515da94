//! `holon run`: one question, one answer. Through the host if one is alive on the home, otherwise with a host of
//! its own for as long as it takes.

use super::text;
use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};
use crate::{host, path, render, settings};
use holon_api::RunRequest;
use holon_client::Told;
use holon_client::view::Run;
use holon_config::{Flags, Settings, Source};
use holon_daemon::LogLevel;
use holon_domain::AgentId;
use holon_domain::run::RunOnceResponse;
use std::path::PathBuf;

/// Asks and prints.
pub(super) fn run(home: Option<PathBuf>, args: RunArgs, output: &Output) -> Result<Exit, Failure> {
    let mut request = request(args)?;
    let flags = Flags {
        home,
        ..Flags::default()
    };
    let (settings, problem) = settings::of_client(&flags)?;
    holon_daemon::start_logging(&settings, LogLevel::Warn);
    let response = super::block_on(async {
        let client = host::client(&settings.home.value);
        match client.health().await {
            Ok(_) => {
                if let Some(problem) = &problem {
                    settings::warn_of_file(problem, output);
                }
                follow_environment(&mut request, &settings);
                Ok((client.run(&request).await?, AnsweredBy::Host))
            }
            Err(holon_client::Error::Unreachable { .. }) => {
                // Without a host the settings are this run's own.
                let settings = settings::load(&flags)?;
                let response = holon_daemon::run_local(&settings, request).await?;
                Ok((told(&response)?, AnsweredBy::ItsOwn))
            }
            Err(other) => Err(Failure::from(other)),
        }
    });
    let (response, by) = response.map_err(advise)?;
    show(
        &response,
        &by.to_end(&response.agent_id, &settings),
        &settings,
        output,
    );
    Ok(match response.final_status.as_str() {
        "completed" => Exit::Done,
        "waiting" => Exit::Waiting,
        // Whatever else a host may say: what was asked is not known to be done.
        _ => Exit::Failed,
    })
}

/// An answer of a host of this run's own, read as that of any other.
fn told(response: &RunOnceResponse) -> Result<Told<Run>, Failure> {
    serde_json::to_value(response)
        .and_then(Told::new)
        .map_err(|error| Failure::new(Exit::Failed, "protocol", error.to_string()))
}

fn request(args: RunArgs) -> Result<RunRequest, Failure> {
    let RunArgs {
        text,
        agent,
        create_agent,
        model,
        max_turns,
        no_wait_for_tasks,
        workspace,
    } = args;
    Ok(RunRequest {
        agent_id: agent.map(|id| named(&id)).transpose()?,
        create_agent,
        model: model
            .map(|model| path::model("--model", &model))
            .transpose()?,
        max_turns,
        no_wait_for_tasks,
        workspace_root: workspace
            .workspace_root
            .map(|dir| path::absolute("--workspace-root", &dir))
            .transpose()?,
        cwd: workspace
            .cwd
            .map(|dir| path::absolute("--cwd", &dir))
            .transpose()?,
        text: text::words(text)?,
    })
}

fn named(id: &str) -> Result<AgentId, Failure> {
    AgentId::parse(id).map_err(|error| Failure::usage(format!("--agent {id:?}: {error}")))
}

/// A temporary agent asks the model of the caller's environment, also at a host that was started with another.
/// A named agent would keep it, so for one only a flag counts.
fn follow_environment(request: &mut RunRequest, settings: &Settings) {
    if request.agent_id.is_some() || request.model.is_some() {
        return;
    }
    request.model = settings
        .model
        .as_ref()
        .filter(|model| model.source == Source::Environment)
        .map(|model| model.value.to_string());
}

fn advise(failure: Failure) -> Failure {
    if failure.is("agent_not_found") {
        return failure.hint("add --create-agent to make it, or choose another with --agent ID");
    }
    if failure.is("no_model") {
        return failure.hint(
            "run: holon init; or choose one with --model PROVIDER/MODEL or HOLON_MODEL; without a key try: holon demo",
        );
    }
    failure
}

/// Which host answered.
#[derive(Debug, Clone, Copy)]
enum AnsweredBy {
    /// One that serves the home and goes on.
    Host,
    /// One of the run's own, which is gone with it.
    ItsOwn,
}

impl AnsweredBy {
    /// How tasks that outlive the run are ended.
    fn to_end(self, agent: &str, settings: &Settings) -> String {
        let home = match settings.home.source {
            Source::Flag => format!(" --home {}", settings.home.value.display()),
            Source::Environment | Source::File | Source::Credentials | Source::Builtin => {
                String::new()
            }
        };
        let stop = format!("holon agent stop {agent}{home}");
        match self {
            Self::Host => stop,
            Self::ItsOwn => format!("holon serve{home}, then: {stop}"),
        }
    }
}

fn show(response: &Told<Run>, to_end: &str, settings: &Settings, output: &Output) {
    output.answer(response, |response| response.final_text.clone());
    if output.format() == Format::Json {
        return;
    }
    if let Some(line) = render::attempt::fell_over(&response.provider_attempt_timeline) {
        output.note(&format!("note: {line}"));
    }
    if let Some(line) = render::run::status(response, &settings.providers, to_end) {
        output.note(&line);
    }
    output.aside(&render::run::usage(response));
}
