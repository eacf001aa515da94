//! Documents for the tests of the index.

use super::{IndexOwner, IndexPosition, MemoryBatch, MemoryIndex, SourceChange};
use holon_domain::memory::{MemoryDocument, MemoryKind, MemoryProvenance, MemoryScope, SourceRef};
use holon_domain::{AgentId, Timestamp, WorkspaceId};

const NOW: i64 = 1_794_700_000_000;
const DAY: i64 = 86_400_000;

pub(super) fn owner() -> IndexOwner {
    IndexOwner {
        agent_id: AgentId::parse_stored("main").expect("a name"),
        birth: 1,
        epoch: "e".to_owned(),
    }
}

pub(super) fn document(source_ref: SourceRef, age_days: i64, body: &str) -> MemoryDocument {
    let is_file = source_ref.kind() == MemoryKind::AgentMemory;
    let workspace = WorkspaceId::from_stored("ws-1");
    MemoryDocument {
        provenance: MemoryProvenance {
            kind: source_ref.kind(),
            scope_kind: if is_file {
                MemoryScope::Agent
            } else {
                MemoryScope::Workspace
            },
            workspace_id: (!is_file).then_some(workspace),
            agent_id: owner().agent_id,
            source_path: is_file.then(|| format!("memory/{}.md", source_ref.id())),
            title: body.lines().next().unwrap_or_default().to_owned(),
            updated_at: Timestamp::from_millis(NOW - age_days * DAY),
            metadata: serde_json::Value::Null,
            source_ref,
        },
        body: body.to_owned(),
    }
}

pub(super) fn put(index: &mut MemoryIndex, documents: Vec<MemoryDocument>) {
    let changes = documents.into_iter().map(|document| SourceChange {
        source_ref: document.provenance.source_ref.clone(),
        document: Some(document),
    });
    let batch = MemoryBatch {
        restarts: false,
        changes: changes.collect(),
        position: IndexPosition::Following { cursor: 1 },
        pending: 0,
    };
    index.apply(&owner(), batch).expect("is written");
}
