//! The first request of a turn, read from the store and assembled, for a fresh agent and for one with thousands of
//! turns. Both must cost the same.

use crate::admission;
use crate::stats::{Sample, round};
use crate::world;
use holon_domain::AgentId;
use holon_domain::guidance::Guidance;
use holon_domain::place::Place;
use holon_domain::web::WebTools;
use holon_engine::Host;
use holon_engine::model_request::{
    KnownThread, ReminderTerms, RequestFiles, RequestImages, RequestTerms, RoundRequest,
    ThreadTerms,
};
use holon_engine::work_answer::PlanFile;
use holon_store::{Db, Inline, Store, TurnLog};
use holon_testkit::ports::{FixedModel, WIDE_POLICY};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

/// Measured requests of each agent.
const REQUESTS: usize = 200;
/// Turns after which a history has its full length; a fresh agent's prompt is shorter and is no baseline for it.
const FULL_HISTORY: usize = 30;

const TERMS: RequestTerms = RequestTerms {
    reminder: ReminderTerms {
        rounds: 12,
        cooldown_rounds: 12,
        max_tokens: 512,
    },
    web_tools: WebTools::ALL,
    thread: ThreadTerms::DEFAULT,
};

/// Measures the first request of a fresh agent's turn, of one with a full history, and of one after `turns` turns.
pub(crate) async fn assembly(turns: usize) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let db_path = dir.path().join("holon.sqlite3");
    let fresh = requests_after(&db_path, 0).await?;
    let full = requests_after(&db_path, FULL_HISTORY).await?;
    let late = requests_after(&db_path, turns.saturating_sub(FULL_HISTORY)).await?;
    Ok(json!({
        "fresh": fresh.report(),
        "after_30_turns": full.report(),
        "after_all_turns": late.report(),
        "turns": turns,
        "p50_ratio": round(late.quantile(0.5) / full.quantile(0.5)),
        "p50_ratio_aim": 1.1,
    }))
}

/// Lets the agent have so many more turns, opens one that no model answers, and builds its request again and again.
pub(crate) async fn requests_after(db_path: &Path, turns: usize) -> Result<Sample, Box<dyn Error>> {
    // A turn that the last measurement left open is answered first.
    let host = world::host(db_path, FixedModel::Text).await?;
    let agent_id = AgentId::parse("worker")?;
    if host.reads().status(&agent_id).await.is_err() {
        world::agent(&host, agent_id.as_str()).await?;
    }
    for _ in 0..turns {
        admission::turn(&host, &agent_id).await?;
    }
    host.shut_down().await?;
    let host = world::host(db_path, FixedModel::Held).await?;
    host.control().admit(&agent_id, world::prompt()).await?;
    await_turn(&host, &agent_id).await?;
    host.shut_down().await?;
    requests(db_path, &agent_id).await
}

/// Waits until the agent has an open turn.
async fn await_turn(host: &Host, agent_id: &AgentId) -> Result<(), Box<dyn Error>> {
    while host
        .reads()
        .status(agent_id)
        .await?
        .agent
        .current_run_id
        .is_none()
    {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

async fn requests(db_path: &Path, agent_id: &AgentId) -> Result<Sample, Box<dyn Error>> {
    let db = Db::open(db_path)?;
    let (_, agent) = db.reader().agent(agent_id)?.ok_or("no such agent")?;
    let turn = agent.open_turn.as_ref().ok_or("the turn is over")?;
    let (turn_index, store) = (turn.turn_index, Inline::new(db));
    let mut sample = Sample::default();
    for _ in 0..REQUESTS {
        let began = Instant::now();
        let rows = store.turn(agent_id, turn_index, TurnLog::default()).await?;
        let files = RequestFiles {
            plan: PlanFile::Known,
            guidance: Guidance::default(),
            place: Place::default(),
            images: RequestImages::default(),
        };
        let mut rows = rows.ok_or("the turn is over")?;
        let mut thread = KnownThread::default();
        thread.take(&mut rows);
        let request =
            RoundRequest::new(rows, &thread, WIDE_POLICY, files, TERMS).ok_or("no request")?;
        sample.add(began.elapsed());
        assert_eq!(request.request.round, 1, "the first request of a turn");
    }
    Ok(sample)
}
