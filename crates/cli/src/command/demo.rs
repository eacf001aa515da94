//! `holon demo`: one request, a crash in the middle of it, a command that survives the crash, and the proof that
//! nothing was lost or done twice.
//!
//! Needs no API key and touches no file of the user: home, repository and script are in a temporary directory. Every
//! host that it starts is ended by its handle. The command that outlives a host is released and awaited, also after an
//! error or an interrupt.

mod checks;
mod host_process;
mod stage;
mod tell;

use crate::args::DemoArgs;
use crate::blocked_output;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};
use checks::{Check, StreamRecord};
use holon_api::{CreateAgentRequest, PromptRequest};
use holon_client::view::Brief;
use holon_client::{Answer, EventStream};
use holon_domain::brief::BriefRecord;
use holon_domain::event::Event;
use holon_domain::{AgentId, MessageId};
use host_process::HostProcess;
use serde::Serialize;
use stage::{AGENT, Pace, Stage, TASK};
use std::time::Duration;
use tell::Teller;
use tokio::signal::unix::SignalKind;

/// Timeout for the next event; only a defect exceeds it.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Result of the demo for programs.
#[derive(Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
}

/// Runs the demo. An interrupt ends it and everything it started.
pub(super) async fn run(args: DemoArgs, output: &Output) -> Result<Exit, Failure> {
    let pace = if args.fast { Pace::Fast } else { Pace::Watched };
    let stage = Stage::create(pace).await?;
    let tell = Teller::new(output);
    let mut terminate = tokio::signal::unix::signal(SignalKind::terminate())
        .map_err(|error| Failure::new(Exit::Failed, "system_failed", error.to_string()))?;
    blocked_output::end_on([SignalKind::interrupt(), SignalKind::terminate()]);
    let mut running = None;
    let played = tokio::select! {
        played = play(&stage, &tell, &mut running) => played,
        _ = tokio::signal::ctrl_c() => Err(interrupted()),
        _ = terminate.recv() => Err(interrupted()),
    };
    // Wait for all writers, so that the directory can be removed.
    stage.release_tests();
    if let Some(mut host) = running {
        host.kill().await?;
    }
    stage.wait_for_tests().await;
    let directory = if args.keep {
        Some(stage.keep())
    } else {
        stage.remove().await;
        None
    };
    let checks = match (played, &directory) {
        (Ok(checks), _) => checks,
        (Err(failure), Some(dir)) => {
            return Err(failure.hint(format!("look at what is left in {dir}")));
        }
        (Err(failure), None) => return Err(failure),
    };
    let ok = checks.iter().all(|check| check.ok);
    tell.end(ok, directory.as_deref());
    if output.format() == Format::Json {
        output.answer(
            &Report {
                ok,
                checks,
                directory,
            },
            |_| String::new(),
        );
    }
    Ok(if ok { Exit::Done } else { Exit::Failed })
}

fn interrupted() -> Failure {
    Failure::new(
        Exit::Failed,
        "interrupted",
        "the demo was interrupted; everything it started has been ended",
    )
}

/// Runs the steps of the demo. The current host is kept in `running`, so that the caller can end it after any error.
async fn play(
    stage: &Stage,
    tell: &Teller<'_>,
    running: &mut Option<HostProcess>,
) -> Result<Vec<Check>, Failure> {
    tell.chapter("A host starts on a home of its own, with a scripted model: no key, no network.");
    let host = running.insert(HostProcess::start(stage).await?);
    tell.line(&format!("host is up (pid {})", host.pid()));
    let agent = AgentId::parse(AGENT).map_err(|error| Failure::usage(error.to_string()))?;
    let request = CreateAgentRequest {
        workspace_root: Some(stage.repo_text()),
        ..CreateAgentRequest::default()
    };
    host.client().create_agent(&agent, &request).await?;
    tell.line(&format!(
        "agent {AGENT} works in a git repository with a failing test"
    ));
    let mut stream = host.client().events_stream(agent.clone(), None);
    stream.open().await?;
    let mut record = StreamRecord::after(stream.cursor());

    tell.chapter("A request arrives.");
    let message = send_prompt(host, &agent).await?;
    tell.line(&format!("operator: {TASK}"));
    follow(&mut stream, &mut record, tell, |event| {
        matches!(event, Event::ToolExecuted(done) if done.exec_command_cmd.as_deref().is_some_and(stage::is_slow))
    })
    .await?;

    tell.chapter("The tests run and the model is being asked what is next. Now: kill -9.");
    host.kill().await?;
    tell.line("host is dead; nothing could be saved or said. The tests go on without it");
    stage.write_script(stage::ScriptPhase::AfterCrash)?;
    let host = running.insert(HostProcess::start(stage).await?);
    tell.line(&format!("host is up again (pid {})", host.pid()));

    tell.chapter("The agent goes on after the last entry of its log, and its task is found again.");
    follow(&mut stream, &mut record, tell, is_turn_end).await?;

    tell.chapter("The tests end. Their result wakes the agent.");
    stage.release_tests();
    follow(&mut stream, &mut record, tell, is_turn_end).await?;
    let checks = run_checks(stage, host, &agent, &message, &record).await?;
    tell.chapter("What is true now:");
    for check in &checks {
        tell.check(check);
    }
    tell.log(&stage.git_log().await?);
    host.stop().await?;
    Ok(checks)
}

const fn is_turn_end(event: &Event) -> bool {
    matches!(event, Event::TurnTerminal(_))
}

async fn send_prompt(host: &HostProcess, agent: &AgentId) -> Result<MessageId, Failure> {
    let request = PromptRequest {
        images: Vec::new(),
        text: TASK.to_owned(),
        priority: None,
        max_turns: None,
        trust: None,
    };
    Ok(host.client().prompt(agent, &request).await?.message_id)
}

/// Narrates events up to the one that `is_last` accepts.
async fn follow(
    stream: &mut EventStream,
    record: &mut StreamRecord,
    tell: &Teller<'_>,
    is_last: impl Fn(&Event) -> bool,
) -> Result<(), Failure> {
    loop {
        let Ok(next) = tokio::time::timeout(EVENT_TIMEOUT, stream.next()).await else {
            return Err(Failure::new(
                Exit::Failed,
                "demo_stuck",
                "the story did not go on; this is a defect to report",
            )
            .hint("run it again with --keep and look at host.log in the directory it names"));
        };
        let envelope = next?;
        let event = envelope.event();
        record.note(envelope.event_seq, &event);
        tell.event(&event);
        if is_last(&event) {
            return Ok(());
        }
    }
}

async fn run_checks(
    stage: &Stage,
    host: &HostProcess,
    agent: &AgentId,
    message: &MessageId,
    record: &StreamRecord,
) -> Result<Vec<Check>, Failure> {
    let answers = host.client().briefs(Some(agent), None).await?;
    let known = |brief: &Answer<Brief>| brief.known::<BriefRecord>();
    let briefs: Vec<BriefRecord> = answers.iter().map(known).collect::<Result<_, _>>()?;
    let ran = stage.commands_run()?;
    Ok(vec![
        checks::one_outcome(&briefs, message),
        checks::each_command_once(&ran),
        checks::resumed_once(record),
        checks::task_ended_once(record),
        checks::no_event_lost(record),
        checks::test_passes(stage.test_output().await?),
    ])
}
