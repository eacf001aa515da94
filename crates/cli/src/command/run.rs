//! `holon run`: one request, one answer. Uses the host of the home if one is running, otherwise a temporary host in
//! this process.

use super::images::{self, LocalImage};
use super::tail::to_record;
use super::text;
use crate::addressing::hint;
use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::live::{LiveAnswer, LiveOutput, LiveParts};
use crate::output::{self, Format, Output};
use crate::render::run::Responder;
use crate::target::{RemoteHost, Target};
use crate::{blocked_output, host, path, render, settings};
use holon_api::RunRequest;
use holon_client::view::Run;
use holon_client::{Answer, Client, RunItem};
use holon_config::{Flags, Providers, Settings, Source};
use holon_daemon::{LocalRun, LogLevel, LogTarget, RunNews};
use holon_domain::AgentId;
use holon_domain::queue::MessageSeq;
use holon_domain::run::RunOnceResponse;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::signal::unix::SignalKind;
use tokio::sync::mpsc;

/// Time between two changes of the line that says what the agent does.
const SECOND: Duration = Duration::from_secs(1);
/// Capacity of the queue of news from a host in this process.
const NEWS: usize = 64;
/// What becomes of the agent of a run without a name when its caller leaves.
const TEMPORARY_REMOVED: &str = "the temporary agent is removed with its work";
/// Code with which a host refuses a query that it does not know.
const UNKNOWN_QUERY: &str = "invalid_query";

/// Runs the request and prints the answer.
pub(super) fn run(target: Target, args: RunArgs, output: &Output) -> Result<Exit, Failure> {
    let images = images::read(&args.image)?;
    let request = build_request(&target, args)?;
    let response = perform_with(target, request, images, output)?;
    Ok(exit_of(&response))
}

/// Returns the exit code of a run.
pub(super) fn exit_of(response: &Run) -> Exit {
    match response.final_status.as_str() {
        "completed" => Exit::Done,
        "waiting" => Exit::Waiting,
        // Any other status does not prove that the work is done.
        _ => Exit::Failed,
    }
}

/// Runs a request, prints the answer and returns it.
pub(super) fn perform(
    target: Target,
    request: RunRequest,
    output: &Output,
) -> Result<Answer<Run>, Failure> {
    perform_with(target, request, Vec::new(), output)
}

/// Does the same with images that go with the text.
fn perform_with(
    target: Target,
    request: RunRequest,
    images: Vec<LocalImage>,
    output: &Output,
) -> Result<Answer<Run>, Failure> {
    let live = Live {
        images,
        answer: Mutex::new(LiveAnswer::new(output.live_parts())),
        parts: output.live_parts(),
        output,
    };
    let ran = match target {
        Target::Home(home) => live.perform_at_home(home, request),
        Target::Remote(remote) => live.perform_remotely(&remote, request),
    };
    let ran = ran.map_err(|failure| {
        live.give_up();
        add_hint(failure)
    })?;
    print_answer(&live, &ran, output);
    Ok(ran.response)
}

/// Decodes the response of a local run like that of a host.
fn local_answer(response: &RunOnceResponse) -> Result<Answer<Run>, Failure> {
    serde_json::to_value(response)
        .and_then(Answer::new)
        .map_err(|error| Failure::new(Exit::Failed, "protocol", error.to_string()))
}

fn build_request(target: &Target, args: RunArgs) -> Result<RunRequest, Failure> {
    let RunArgs {
        text,
        image: _,
        agent,
        create_agent,
        template,
        model,
        max_turns,
        no_wait_for_tasks,
        trust,
        workspace,
    } = args;
    Ok(RunRequest {
        agent_id: agent.map(|id| parse_agent_id(&id)).transpose()?,
        create_agent,
        template,
        model: model
            .map(|model| path::model("--model", &model))
            .transpose()?,
        max_turns,
        no_wait_for_tasks,
        workspace_root: workspace
            .workspace_root
            .map(|dir| target.absolute("--workspace-root", &dir))
            .transpose()?,
        cwd: workspace
            .cwd
            .map(|dir| target.absolute("--cwd", &dir))
            .transpose()?,
        trust: trust.map(Into::into),
        text: text::read_prompt(text)?,
        images: Vec::new(),
    })
}

pub(super) fn parse_agent_id(id: &str) -> Result<AgentId, Failure> {
    AgentId::parse(id).map_err(|error| Failure::usage(format!("--agent {id:?}: {error}")))
}

/// Sets the model of the caller's environment for a temporary agent, even if the host was started with another one. A
/// named agent would keep it, so for a named agent only the option applies.
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

fn add_hint(failure: Failure) -> Failure {
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

/// The answer that is shown while it arrives, and its output.
struct Live<'a> {
    /// Images that go with the request. The host that runs it names them by their digests.
    images: Vec<LocalImage>,
    answer: Mutex<LiveAnswer>,
    parts: LiveParts,
    output: &'a Output,
}

/// A run that was answered, and what its rendering needs to know.
struct Performed {
    response: Answer<Run>,
    by: Responder,
    /// Providers of the host, for the steps that the rendering proposes. Empty if the host is on another machine.
    providers: Providers,
}

impl Live<'_> {
    /// Runs the request with the settings of a home of this machine.
    fn perform_at_home(
        &self,
        home: Option<PathBuf>,
        request: RunRequest,
    ) -> Result<Performed, Failure> {
        let flags = Flags {
            home,
            ..Flags::default()
        };
        let (settings, problem) = settings::load_for_client(&flags)?;
        let log = LogTarget::SharedStderr {
            clear_progress: output::take_progress,
        };
        holon_daemon::start_logging(&settings, LogLevel::Warn, log);
        let ran = self.run_at_home(&flags, &settings, problem.as_ref(), request);
        let (response, by) = super::block_on(ran)?;
        Ok(Performed {
            response,
            by,
            providers: settings.providers,
        })
    }

    /// Runs the request on a host of another machine. No settings of this machine are read.
    fn perform_remotely(
        &self,
        remote: &RemoteHost,
        request: RunRequest,
    ) -> Result<Performed, Failure> {
        let agent = request.agent_id.clone();
        let response = super::block_on(until_interrupted(agent.as_ref(), async {
            let ran = self.run_on_host(&remote.client, request).await;
            ran.map_err(|error| host::remote_failure(&remote.url, error))
        }))?;
        Ok(Performed {
            response,
            by: Responder::Host,
            providers: Providers::default(),
        })
    }

    /// Runs the request on a host. A host that is too old to send news answers whole.
    async fn run_on_host(
        &self,
        client: &Client,
        mut request: RunRequest,
    ) -> Result<Answer<Run>, holon_client::Error> {
        request.images = images::upload(client, &self.images).await?;
        let request = &request;
        if !self.parts.any() {
            return client.run(request).await;
        }
        let watched = client.run_watched(request, |item| match item {
            RunItem::Queued(queued) => self.queue(queued.message_seq),
            RunItem::Delta(delta) => self.show(|answer| answer.delta(&delta)),
            RunItem::Event(envelope) => self.show(|answer| answer.record(&to_record(&envelope))),
        });
        match self.count_seconds(watched).await {
            Err(error) if error.code() == Some(UNKNOWN_QUERY) => client.run(request).await,
            outcome => outcome,
        }
    }

    /// Runs the request on the host of a home, or in this process if none runs.
    async fn run_at_home(
        &self,
        flags: &Flags,
        settings: &Settings,
        problem: Option<&Failure>,
        mut request: RunRequest,
    ) -> Result<(Answer<Run>, Responder), Failure> {
        let client = host::client(&settings.home.value);
        match client.health().await {
            Ok(_) => {
                if let Some(problem) = problem {
                    settings::warn_about_file(problem, self.output);
                }
                follow_environment(&mut request, settings);
                let agent = request.agent_id.clone();
                let ran = async {
                    let ran = self.run_on_host(&client, request).await;
                    ran.map_err(|error| silent_failure(&settings.home.value, error))
                };
                let ran = until_interrupted(agent.as_ref(), Box::pin(ran));
                let ran = ran.await?;
                Ok((ran, Responder::Host))
            }
            Err(holon_client::Error::Unreachable { .. }) => {
                // Without a host, this run uses its own settings.
                let settings = settings::load(flags)?;
                let agent = request.agent_id.clone();
                let ran = self.run_here(&settings, request);
                // The run is polled first, so that it listens to the signals before the watch takes them from the
                // system.
                let watch = async {
                    blocked_output::end_on([SignalKind::interrupt(), SignalKind::terminate()]);
                };
                let (ran, ()) = tokio::join!(biased; Box::pin(ran), watch);
                let response = ran.map_err(|error| cut_off(agent.as_ref(), error))?;
                Ok((local_answer(&response)?, Responder::Local))
            }
            Err(other) => Err(silent_failure(&settings.home.value, other)),
        }
    }

    /// Runs the request on a temporary host in this process.
    async fn run_here(
        &self,
        settings: &Settings,
        request: RunRequest,
    ) -> Result<RunOnceResponse, holon_daemon::Error> {
        let images = self.images.iter().map(|image| image.bytes.clone());
        let order = LocalRun {
            request,
            images: images.collect(),
        };
        if !self.parts.any() {
            return holon_daemon::run_local(settings, order, None).await;
        }
        let (news, mut heard) = mpsc::channel(NEWS);
        let show = async {
            while let Some(news) = heard.recv().await {
                match news {
                    RunNews::Began(_) => {}
                    RunNews::Queued(admitted) => self.queue(admitted.message_seq),
                    RunNews::Delta(delta) => self.show(|answer| answer.delta(&delta)),
                    RunNews::Event(record) => self.show(|answer| answer.record(&record)),
                }
            }
        };
        // The future of a whole host is large, and is moved with the ticks around it.
        let run = Box::pin(holon_daemon::run_local(settings, order, Some(news)));
        let (outcome, ()) = self.count_seconds(async { tokio::join!(run, show) }).await;
        outcome
    }

    /// Shows on a terminal what the agent does, once a second while the run goes on.
    async fn count_seconds<T>(&self, run: impl Future<Output = T>) -> T {
        if !self.parts.waits {
            return run.await;
        }
        let mut run = std::pin::pin!(run);
        let mut ticks = tokio::time::interval(SECOND);
        // The first tick is at once; a short run shows no line.
        ticks.tick().await;
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut run => break outcome,
                _ = ticks.tick() => self.show(LiveAnswer::tick),
            }
        };
        self.show(LiveAnswer::end_activity);
        outcome
    }

    fn show(&self, change: impl FnOnce(&mut LiveAnswer) -> Vec<LiveOutput>) {
        // A panic cannot leave the state half-changed, so a poisoned lock is safe to use.
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        self.output.show(&change(&mut answer));
    }

    fn queue(&self, message_seq: MessageSeq) {
        self.show(|answer| {
            answer.queue(message_seq);
            Vec::new()
        });
    }

    fn finish(&self, response: &Run, answer: &str) {
        let completed = response.final_status == "completed";
        self.show(|shown| shown.finish(answer, completed));
    }

    fn give_up(&self) {
        self.show(LiveAnswer::give_up);
    }
}

/// Awaits a run on a host until Ctrl+C. A named agent goes on without its caller, a temporary one is removed; the caller is
/// told.
async fn until_interrupted<T>(
    agent: Option<&AgentId>,
    run: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    // Comes after the branch that listens.
    let watch = async {
        blocked_output::end_on([SignalKind::interrupt()]);
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        biased;
        ran = run => ran,
        () = interrupt => Err(left_behind(agent)),
        never = watch => match never {},
    }
}

/// Returns the failure of a run whose caller leaves before its answer.
fn left_behind(agent: Option<&AgentId>) -> Failure {
    let Some(agent) = agent else {
        let words = format!("interrupted before the answer; {TEMPORARY_REMOVED}");
        return Failure::new(Exit::Failed, "interrupted", words);
    };
    let words = format!("interrupted before the answer; agent {agent} goes on with it");
    Failure::new(Exit::Failed, "interrupted", words).hint(format!(
        "follow it: holon tail --follow --agent {agent}; end it: holon agent abort {agent}"
    ))
}

/// Returns the failure of a run in this process. After a signal it says what becomes of the agent's turn.
fn cut_off(agent: Option<&AgentId>, error: holon_daemon::Error) -> Failure {
    if !matches!(error, holon_daemon::Error::Interrupted { .. }) {
        return error.into();
    }
    let Some(agent) = agent else {
        let words = format!("{error}; {TEMPORARY_REMOVED}");
        return Failure::new(Exit::Failed, "interrupted", words);
    };
    let words = format!("{error}; agent {agent} goes on with it once a host runs on its home");
    Failure::new(Exit::Failed, "interrupted", words)
        .hint("start one: holon daemon start; or run the agent again")
}

/// Returns the failure of a request to the host of a home, with the reason if its process is stopped by a signal.
fn silent_failure(home: &Path, error: holon_client::Error) -> Failure {
    match error {
        error @ holon_client::Error::Interrupted { .. } => {
            host::explain_silence(home, error.into())
        }
        other => other.into(),
    }
}

fn print_answer(live: &Live<'_>, ran: &Performed, output: &Output) {
    let response = &ran.response;
    if output.format() == Format::Json {
        output.answer(response, |response| response.final_text.clone());
        return;
    }
    // Standard output carries answers only. What the runtime says goes to standard error.
    let printed = render::run::split_text(response);
    match printed.answer {
        Some(answer) if live.parts.text => live.finish(response, answer),
        Some(answer) => output.say_as_written(answer),
        None => live.give_up(),
    }
    if let Some(remark) = printed.remark {
        output.note(&hint(remark));
    }
    if let Some(note) = &response.note {
        output.note(&format!("note: {note}"));
    }
    for line in &response.notes {
        output.note(&format!("note: {line}"));
    }
    if let Some(line) = render::attempt::fallback_note(&response.provider_attempt_timeline) {
        output.note(&format!("note: {line}"));
    }
    if let Some(line) = render::run::status(response, &ran.providers, ran.by) {
        output.note(&line);
    }
    output.aside(&render::run::usage(response));
}
