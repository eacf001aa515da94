//! A prompt read and assembled again, for a fresh agent and for one with thousands of turns. Both must cost the same.

use crate::admission;
use crate::stats::{Sample, round};
use crate::world;
use holon_domain::AgentId;
use holon_engine::Host;
use holon_testkit::ports::FixedModel;
use serde_json::{Value, json};
use std::error::Error;
use std::time::Instant;

/// Measured prompts of each agent.
const READS: usize = 200;
/// Turns after which a history has its full length; a fresh agent's prompt is shorter and is no baseline for it.
const FULL_HISTORY: usize = 30;

/// Measures the prompt of a fresh agent, of one with a full history, and of one after `turns` turns.
pub(crate) async fn assembly(turns: usize) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let host = world::host(&dir.path().join("holon.sqlite3"), FixedModel::Text).await?;
    let agent_id = world::agent(&host, "worker").await?;
    admission::turn(&host, &agent_id).await?;
    let fresh = prompts(&host, &agent_id).await?;
    for _ in 1..FULL_HISTORY {
        admission::turn(&host, &agent_id).await?;
    }
    let full = prompts(&host, &agent_id).await?;
    for _ in FULL_HISTORY..turns {
        admission::turn(&host, &agent_id).await?;
    }
    let late = prompts(&host, &agent_id).await?;
    host.shut_down().await?;
    Ok(json!({
        "fresh": fresh.report(),
        "after_30_turns": full.report(),
        "up_to_the_last": late.report(),
        "turns": turns,
        "p50_ratio": round(late.quantile(0.5) / full.quantile(0.5)),
    }))
}

async fn prompts(host: &Host, agent_id: &AgentId) -> Result<Sample, Box<dyn Error>> {
    let mut sample = Sample::default();
    for _ in 0..READS {
        let began = Instant::now();
        let view = host.reads().prompt(agent_id, None).await?;
        sample.add(began.elapsed());
        assert!(view.prompt.is_some(), "a prompt is stored");
    }
    Ok(sample)
}
