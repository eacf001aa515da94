//! What a turn costs when an agent remembers much: the turn, its first request, the host's memory and the disk, with
//! threads of several lengths.

use crate::admission;
use crate::memory::{PRIVATE, kib};
use crate::program::{self, Fallible, INSTANT, Served, expect_ok};
use crate::prompt;
use crate::stats::{Sample, round};
use crate::world;
use holon_testkit::ports::FixedModel;
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;

/// Tokens of each prompt that fills the thread.
const PROMPT_TOKENS: usize = 1_000;
const TURNS: usize = 50;

/// A prompt of about this many tokens.
fn words(tokens: usize) -> String {
    "ordinary ".repeat(tokens * 4 / 9)
}

/// Measures turns of an agent in this process whose thread has about this many tokens.
pub(crate) async fn turns(tokens: usize) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("holon.sqlite3");
    let host = world::host(&path, FixedModel::Text).await?;
    let agent_id = world::agent(&host, "worker").await?;
    for _ in 0..tokens / PROMPT_TOKENS {
        admission::turn_about(&host, &agent_id, words(PROMPT_TOKENS)).await?;
    }
    host.shut_down().await?;
    let before = std::fs::metadata(&path)?.len();
    let host = world::host(&path, FixedModel::Text).await?;
    let mut sample = Sample::default();
    for _ in 0..TURNS {
        sample.add(admission::turn(&host, &agent_id).await?);
    }
    host.shut_down().await?;
    let grown = std::fs::metadata(&path)?.len() - before;
    let assembly = prompt::requests_after(&path, 0).await?;
    Ok(json!({
        "thread_tokens": tokens,
        "turn": sample.report(),
        "assembly": assembly.report(),
        "assembly_p50_us_aim": 3_000,
        "disk_bytes_per_turn": round(grown as f64 / TURNS as f64),
    }))
}

/// Measures the program's own memory before and after its agent has got such a thread.
pub(crate) async fn memory(holon: &Path, tokens: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = program::home(dir.path())?;
    let served = Served::start(holon, &home, &program::script(dir.path(), INSTANT)?).await?;
    let mut wire = served.wire().await?;
    let before = kib(served.pid(), PRIVATE)?;
    let body = json!({ "text": words(PROMPT_TOKENS) }).to_string();
    for _ in 0..tokens / PROMPT_TOKENS {
        expect_ok(
            wire.request("POST", "/control/agents/main/prompt", &body)
                .await?,
        )?;
        crate::memory::await_idle(&mut wire).await?;
    }
    Ok(json!({
        "thread_tokens": tokens,
        "private_kib_at_start": before,
        "private_kib": kib(served.pid(), PRIVATE)?,
    }))
}
