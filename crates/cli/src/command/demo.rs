//! `holon demo`: one request, a crash in the middle of it, a command that goes on all the same, and the proof that
//! nothing was lost or done twice.
//!
//! Needs no key and touches nothing of the user's: home, repository and script are in a directory of their own.
//! Every host it starts is ended by its handle, and the command that outlives one is let go and waited for, also on an
//! error or an interrupt.

mod checks;
mod hosted;
mod stage;
mod tell;

use crate::args::DemoArgs;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};
use checks::{Check, Seen};
use holon_api::{CreateAgentRequest, PromptRequest};
use holon_client::view::Brief;
use holon_client::{EventStream, Told};
use holon_domain::brief::BriefRecord;
use holon_domain::event::Event;
use holon_domain::{AgentId, MessageId};
use hosted::Hosted;
use serde::Serialize;
use stage::{AGENT, Pace, Stage, TASK};
use std::time::Duration;
use tell::Teller;

/// Longest silence of the story; only a defect makes one.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came of it, for programs.
#[derive(Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
}

/// Plays the story; an interrupt ends it and everything it started.
pub(super) async fn run(args: DemoArgs, output: &Output) -> Result<Exit, Failure> {
    let pace = if args.fast { Pace::Fast } else { Pace::Watched };
    let stage = Stage::set(pace).await?;
    let tell = Teller::new(output);
    let mut terminate =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
            .map_err(|error| Failure::new(Exit::Failed, "system_failed", error.to_string()))?;
    let mut running = None;
    let played = tokio::select! {
        played = play(&stage, &tell, &mut running) => played,
        _ = tokio::signal::ctrl_c() => Err(interrupted()),
        _ = terminate.recv() => Err(interrupted()),
    };
    // Waited for, so that nobody writes into the directory any more when it is removed.
    stage.let_tests_end();
    if let Some(mut host) = running {
        host.kill().await?;
    }
    stage.until_tests_ended().await;
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

/// The host that runs at any moment is in `running`, so that the caller can end it whatever happens here.
async fn play(
    stage: &Stage,
    tell: &Teller<'_>,
    running: &mut Option<Hosted>,
) -> Result<Vec<Check>, Failure> {
    tell.chapter("A host starts on a home of its own, with a scripted model: no key, no network.");
    let host = running.insert(Hosted::start(stage).await?);
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
    let mut seen = Seen::from(stream.cursor());

    tell.chapter("A request arrives.");
    let message = prompt(host, &agent).await?;
    tell.line(&format!("operator: {TASK}"));
    follow(&mut stream, &mut seen, tell, |event| {
        matches!(event, Event::ToolExecuted(done) if done.exec_command_cmd.as_deref().is_some_and(stage::is_slow))
    })
    .await?;

    tell.chapter("The tests run and the model is being asked what is next. Now: kill -9.");
    host.kill().await?;
    tell.line("host is dead; nothing could be saved or said. The tests go on without it");
    stage.write_script(stage::Asked::Again)?;
    let host = running.insert(Hosted::start(stage).await?);
    tell.line(&format!("host is up again (pid {})", host.pid()));

    tell.chapter("The agent goes on after the last entry of its log, and its task is found again.");
    follow(&mut stream, &mut seen, tell, is_turn_over).await?;

    tell.chapter("The tests end. Their result wakes the agent.");
    stage.let_tests_end();
    follow(&mut stream, &mut seen, tell, is_turn_over).await?;
    let checks = prove(stage, host, &agent, &message, &seen).await?;
    tell.chapter("What is true now:");
    for check in &checks {
        tell.check(check);
    }
    tell.log(&stage.git_log().await?);
    host.stop().await?;
    Ok(checks)
}

const fn is_turn_over(event: &Event) -> bool {
    matches!(event, Event::TurnTerminal(_))
}

async fn prompt(host: &Hosted, agent: &AgentId) -> Result<MessageId, Failure> {
    let request = PromptRequest {
        text: TASK.to_owned(),
        priority: None,
        max_turns: None,
    };
    Ok(host.client().prompt(agent, &request).await?.message_id)
}

/// Tells events as they come, up to the one that is waited for.
async fn follow(
    stream: &mut EventStream,
    seen: &mut Seen,
    tell: &Teller<'_>,
    is_last: impl Fn(&Event) -> bool,
) -> Result<(), Failure> {
    loop {
        let Ok(next) = tokio::time::timeout(PATIENCE, stream.next()).await else {
            return Err(Failure::new(
                Exit::Failed,
                "demo_stuck",
                "the story did not go on; this is a defect to report",
            )
            .hint("run it again with --keep and look at host.log in the directory it names"));
        };
        let envelope = next?;
        let event = envelope.event();
        seen.note(envelope.event_seq, &event);
        tell.event(&event);
        if is_last(&event) {
            return Ok(());
        }
    }
}

async fn prove(
    stage: &Stage,
    host: &Hosted,
    agent: &AgentId,
    message: &MessageId,
    seen: &Seen,
) -> Result<Vec<Check>, Failure> {
    let told = host.client().briefs(Some(agent), None).await?;
    let known = |brief: &Told<Brief>| brief.known::<BriefRecord>();
    let briefs: Vec<BriefRecord> = told.iter().map(known).collect::<Result<_, _>>()?;
    let ran = stage.commands_run()?;
    Ok(vec![
        checks::one_outcome(&briefs, message),
        checks::each_command_once(&ran),
        checks::resumed_once(seen),
        checks::task_ended_once(seen),
        checks::no_event_lost(seen),
        checks::test_passes(stage.test_output().await?),
    ])
}
