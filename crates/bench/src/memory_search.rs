//! The memory index: taking up the brief of one turn, and searches over a large history.

use crate::stats::{Sample, round};
use holon_domain::memory::{
    MemoryDocument, MemoryKind, MemoryProvenance, MemoryScope, MemorySearch, SourceRef,
};
use holon_domain::{AgentId, BriefId, Timestamp, WorkspaceId};
use holon_store::{IndexOwner, IndexPosition, MemoryBatch, MemoryIndex, SourceChange};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

const NOW: i64 = 1_794_700_000_000;
const TURNS: usize = 300;
const SEARCHES: usize = 50;
const STEP: usize = 500;
const WORDS: [&str; 16] = [
    "lease",
    "gateway",
    "deploy",
    "数据库连接",
    "timeout",
    "parser",
    "crates/store/src/tx.rs",
    "backup",
    "缓存失效",
    "retry",
    "invoice",
    "session_store",
    "migration",
    "dashboard",
    "支付网关",
    "scheduler",
];

/// Measures an index that holds this many documents.
pub(crate) fn history(documents: usize) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let owner = IndexOwner {
        agent_id: AgentId::parse_stored("main")?,
        birth: 1,
        epoch: "bench".to_owned(),
    };
    let began = Instant::now();
    let mut index = open(dir.path(), &owner)?;
    for first in (0..documents).step_by(STEP) {
        let last = documents.min(first + STEP);
        index.apply(&owner, batch(&owner, first..last))?;
    }
    let build = began.elapsed();
    drop(index);
    let mut updates = Sample::default();
    for turn in 0..TURNS {
        let began = Instant::now();
        let number = documents + turn;
        open(dir.path(), &owner)?.apply(&owner, batch(&owner, number..number + 1))?;
        updates.add(began.elapsed());
    }
    let queries = [
        ("rare_id", "brief_99991"),
        ("two_words", "invoice 42007"),
        ("common_words", "gateway deploy"),
        ("chinese", "数据库连接"),
        ("path", "crates/store/src/tx.rs"),
        (
            "sentence",
            "why did the session_store migration time out before the backup",
        ),
    ];
    let mut report = json!({
        "documents": documents,
        "build_s": round(build.as_secs_f64()),
        "update_per_turn": updates.report(),
    });
    for (name, query) in queries {
        let took = searches(dir.path(), &owner, query)?;
        report[name] = took.report();
    }
    Ok(report)
}

fn open(home: &Path, owner: &IndexOwner) -> Result<MemoryIndex, Box<dyn Error>> {
    Ok(MemoryIndex::open(home, owner)?.ok_or("there is no home")?)
}

/// Searches as a host does: the index is opened for each search.
fn searches(home: &Path, owner: &IndexOwner, query: &str) -> Result<Sample, Box<dyn Error>> {
    let search = MemorySearch {
        query: query.to_owned(),
        limit: 10,
        include_all_workspaces: false,
    };
    let workspace = WorkspaceId::from_stored("ws-1");
    let mut took = Sample::default();
    for _ in 0..SEARCHES {
        let began = Instant::now();
        let found = open(home, owner)?.search(&search, &workspace, Timestamp::from_millis(NOW))?;
        took.add(began.elapsed());
        assert!(!found.hits.is_empty(), "{query}");
    }
    Ok(took)
}

fn batch(owner: &IndexOwner, numbers: std::ops::Range<usize>) -> MemoryBatch {
    let cursor = numbers.end as u64;
    MemoryBatch {
        restarts: false,
        changes: numbers
            .map(|number| change(number, &owner.agent_id))
            .collect(),
        position: IndexPosition::Following { cursor },
        pending: 0,
    }
}

/// A brief of a few sentences, with words that many others share and a number of its own.
fn change(number: usize, agent_id: &AgentId) -> SourceChange {
    let word = |salt: usize| WORDS[(number * 7 + salt * 13 + number / 16) % WORDS.len()];
    let body = format!(
        "Result {number}: the {} of the {} was checked after the {} failed.\nSee {} and {}; ticket {number} is closed, next is {}.",
        word(1),
        word(2),
        word(3),
        word(4),
        word(5),
        number + 1
    );
    let source_ref = SourceRef::brief(&BriefId::from_stored(format!("brief_{number}")));
    SourceChange {
        document: Some(MemoryDocument {
            provenance: MemoryProvenance {
                kind: MemoryKind::Brief,
                source_ref: source_ref.clone(),
                scope_kind: MemoryScope::Workspace,
                workspace_id: Some(WorkspaceId::from_stored("ws-1")),
                agent_id: agent_id.clone(),
                source_path: None,
                title: format!("Result {number}"),
                updated_at: Timestamp::from_millis(NOW - 400_000 * number as i64 % 31_000_000_000),
                metadata: Value::Null,
            },
            body,
        }),
        source_ref,
    }
}
