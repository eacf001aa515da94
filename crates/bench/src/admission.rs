//! Durable admission in process, and whole turns: each against the same rows written bare, in alternation.

use crate::bare::{Bare, Rows};
use crate::stats::{Sample, rate, round};
use crate::world;
use holon_domain::AgentId;
use holon_engine::Host;
use holon_testkit::ports::FixedModel;
use serde_json::{Value, json};
use std::error::Error;
use std::time::{Duration, Instant};

/// Blocks of baseline and subject, in alternation.
const BLOCKS: usize = 8;

/// The agents that the concurrent callers write to: one, or one each.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Spread {
    /// All to one busy agent.
    OneAgent,
    /// Each to a busy agent of its own: as many places of the file are touched by every commit.
    AgentEach,
}

/// Admission with some callers at once.
pub(crate) async fn admission(
    callers: usize,
    per_block: usize,
    spread: Spread,
) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let (db, bare_db) = (
        dir.path().join("holon.sqlite3"),
        dir.path().join("bare.sqlite3"),
    );
    let rows = admission_rows(&bare_db).await?;
    let mut bare = Bare::open(&bare_db)?;
    let host = world::host(&db, FixedModel::Held).await?;
    let mut agents = Vec::new();
    let distinct = match spread {
        Spread::OneAgent => 1,
        Spread::AgentEach => callers,
    };
    for n in 0..distinct {
        let agent_id = world::agent(&host, &format!("agent-{n}")).await?;
        host.control().admit(&agent_id, world::prompt()).await?;
        agents.push(agent_id);
    }
    let agents: Vec<AgentId> = agents.into_iter().cycle().take(callers).collect();
    let (mut baseline, mut subject) = (Sample::default(), Sample::default());
    let (mut bare_time, mut time) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..BLOCKS {
        let began = Instant::now();
        baseline.extend(bare.write(&rows, per_block)?);
        bare_time += began.elapsed();
        let began = Instant::now();
        subject.extend(block(&host, &agents, per_block / callers).await?);
        time += began.elapsed();
    }
    host.shut_down().await?;
    let done = per_block / callers * callers * BLOCKS;
    Ok(json!({
        "bare": baseline.report(),
        "bare_per_second": rate(per_block * BLOCKS, bare_time),
        "subject": subject.report(),
        "per_second": rate(done, time),
        "p50_ratio": round(subject.quantile(0.5) / baseline.quantile(0.5)),
    }))
}

/// So many admissions of each agent's caller, all callers at once.
pub(crate) async fn block(
    host: &Host,
    agents: &[AgentId],
    each: usize,
) -> Result<Sample, Box<dyn Error>> {
    let mut tasks = Vec::new();
    for agent_id in agents {
        let (control, agent_id) = (host.control(), agent_id.clone());
        tasks.push(tokio::spawn(async move {
            let mut sample = Sample::default();
            for _ in 0..each {
                let began = Instant::now();
                control.admit(&agent_id, world::prompt()).await?;
                sample.add(began.elapsed());
            }
            Ok::<_, holon_engine::Error>(sample)
        }));
    }
    let mut all = Sample::default();
    for task in tasks {
        all.extend(task.await??);
    }
    Ok(all)
}

/// The rows of one admission to a busy agent, learnt from a file of its own that then serves as the bare one.
pub(crate) async fn admission_rows(path: &std::path::Path) -> Result<Rows, Box<dyn Error>> {
    let host = world::host(path, FixedModel::Held).await?;
    let agent_id = world::agent(&host, "learnt").await?;
    host.control().admit(&agent_id, world::prompt()).await?;
    let before = Rows::marks(path)?;
    host.control().admit(&agent_id, world::prompt()).await?;
    let rows = Rows::learn(path, &before)?;
    host.shut_down().await?;
    Ok(rows)
}

/// Whole turns on one agent, one after the other.
pub(crate) async fn turns(model: FixedModel, per_block: usize) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let (db, bare_db) = (
        dir.path().join("holon.sqlite3"),
        dir.path().join("bare.sqlite3"),
    );
    let rows = turn_rows(&bare_db, model).await?;
    let mut bare = Bare::open(&bare_db)?;
    let host = world::host(&db, model).await?;
    let agent_id = world::agent(&host, "worker").await?;
    let (mut baseline, mut subject) = (Sample::default(), Sample::default());
    for _ in 0..BLOCKS {
        baseline.extend(bare.write(&rows, per_block)?);
        for _ in 0..per_block {
            subject.add(turn(&host, &agent_id).await?);
        }
    }
    host.shut_down().await?;
    Ok(json!({ "bare_one_commit": baseline.report(), "subject": subject.report() }))
}

/// The same agent's 100th and 10,000th message.
pub(crate) async fn history(last: usize) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let host = world::host(&dir.path().join("holon.sqlite3"), FixedModel::Text).await?;
    let agent_id = world::agent(&host, "worker").await?;
    let (mut early, mut late) = (Sample::default(), Sample::default());
    for n in 1..=last {
        let took = turn(&host, &agent_id).await?;
        if (51..=150).contains(&n) {
            early.add(took);
        }
        if n > last - 100 {
            late.add(took);
        }
    }
    host.shut_down().await?;
    Ok(json!({ "around_the_100th": early.report(), "up_to_the_last": late.report(), "last": last }))
}

/// From a short prompt to the commit that settles it.
pub(crate) async fn turn(host: &Host, agent_id: &AgentId) -> Result<Duration, Box<dyn Error>> {
    turn_about(host, agent_id, world::SHORT_PROMPT.to_owned()).await
}

/// From a prompt with this text to the commit that settles it.
pub(crate) async fn turn_about(
    host: &Host,
    agent_id: &AgentId,
    text: String,
) -> Result<Duration, Box<dyn Error>> {
    let mut news = host.reads().subscribe();
    let began = Instant::now();
    let admitted = host
        .control()
        .admit(agent_id, world::prompt_of(text))
        .await?;
    loop {
        drop(news.recv().await);
        if host
            .reads()
            .outcome(agent_id, admitted.message_seq)
            .await?
            .is_some()
        {
            return Ok(began.elapsed());
        }
    }
}

async fn turn_rows(path: &std::path::Path, model: FixedModel) -> Result<Rows, Box<dyn Error>> {
    let host = world::host(path, model).await?;
    let agent_id = world::agent(&host, "learnt").await?;
    turn(&host, &agent_id).await?;
    let before = Rows::marks(path)?;
    turn(&host, &agent_id).await?;
    let rows = Rows::learn(path, &before)?;
    host.shut_down().await?;
    Ok(rows)
}
