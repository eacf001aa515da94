//! How well the search finds what people look for: a labelled set over a generated history in English, Chinese and code,
//! beside a plain FTS5 table.

#![allow(clippy::print_stdout, reason = "the figures are for people")]

use super::{IndexOwner, MemoryBatch, MemoryIndex, SourceChange};
use crate::memory_index::IndexPosition;
use holon_domain::memory::{
    CuratedFile, MemoryDocument, MemoryKind, MemoryProvenance, MemoryScope, MemorySearch, SourceRef,
};
use holon_domain::{AgentId, BriefId, Timestamp, WorkItemId, WorkspaceId};
use rusqlite::{Connection, params};

const HISTORY: &str = include_str!("quality/history.txt");
const NOW: i64 = 1_794_700_000_000;
const DAY: i64 = 86_400_000;
/// Documents around those that are looked for.
const NOISE: usize = 3_000;
/// Least share of the queries whose document is among the first five results.
const RECALL: f64 = 0.97;

/// Words of everyday work, so that the noise shares the words of what is looked for.
const SUBJECTS: [&str; 30] = [
    "the session storage",
    "the image resizer",
    "the public API",
    "the nightly backup",
    "the dashboard",
    "the webhook endpoint",
    "the parser",
    "the load balancer",
    "the settings screen",
    "the export",
    "the queue",
    "the search service",
    "the certificate",
    "the ingest path",
    "the scheduler",
    "数据库连接",
    "登录页面",
    "支付网关",
    "服务器日志",
    "用户头像",
    "索引分片",
    "注册邮件",
    "开发环境",
    "缓存",
    "`orders` table",
    "crates/auth/src/lib.rs",
    "services/api/main.go",
    "web/src/components/Button.tsx",
    "src/parser/mod.rs",
    "charts/web",
];
const EVENTS: [&str; 24] = [
    "was checked, nothing to do.",
    "is slow again, I will look at it tomorrow.",
    "failed once and passed on retry.",
    "has a new owner.",
    "needs a review before the release.",
    "was deployed on Monday.",
    "returned a timeout.",
    "got a unit test.",
    "is documented now.",
    "waits for an answer of the customer.",
    "is on the agenda of the team.",
    "was refactored without a change of behaviour.",
    "已经检查，没有问题。",
    "需要进一步调查。",
    "的测试已经通过。",
    "已经部署到测试环境。",
    "的文档已更新。",
    "出现了一次超时，重试后成功。",
    "uses a lease with a token now.",
    "has stale statistics.",
    "logs too much.",
    "showed an error rate of 0.2 %.",
    "is ready for the upgrade.",
    "was moved to another cluster.",
];

/// A small generator, so that the history is the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

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

/// The documents that are looked for, each with its queries.
fn labelled() -> Vec<(MemoryDocument, Vec<&'static str>)> {
    let mut found: Vec<(MemoryDocument, Vec<&str>)> = Vec::new();
    let blocks = HISTORY.split("\n= ").skip(1);
    for (number, block) in blocks.enumerate() {
        let (head, rest) = block.split_once('\n').expect("a head");
        let (kind, age) = head.split_once(' ').expect("a kind and an age");
        let is_query = |line: &&str| line.starts_with("? ");
        let body: Vec<&str> = rest.lines().filter(|line| !is_query(line)).collect();
        let queries = rest
            .lines()
            .filter_map(|line| line.strip_prefix("? "))
            .collect();
        let source_ref = match kind {
            "curated" => SourceRef::curated(CuratedFile::SelfModel),
            "operator" => SourceRef::curated(CuratedFile::Operator),
            "item" => {
                SourceRef::work_item(&WorkItemId::from_stored(format!("work_target{number}")))
            }
            _ => SourceRef::brief(&BriefId::from_stored(format!("brief_target{number}"))),
        };
        let age = age.trim().parse().expect("days");
        found.push((document(source_ref, age, body.join("\n").trim()), queries));
    }
    found
}

fn noise() -> Vec<MemoryDocument> {
    let mut chance = Chance(7);
    let sentences = |chance: &mut Chance| {
        let count = 1 + chance.below(5);
        let sentence = |_| {
            format!(
                "{} {}",
                SUBJECTS[chance.below(SUBJECTS.len())],
                EVENTS[chance.below(EVENTS.len())]
            )
        };
        (0..count).map(sentence).collect::<Vec<_>>().join(" ")
    };
    (0..NOISE)
        .map(|number| {
            let body = sentences(&mut chance);
            let age = chance.below(400) as i64;
            let id = format!("{number:06}");
            let source_ref = match chance.below(5) {
                0 => SourceRef::work_item(&WorkItemId::from_stored(format!("work_{id}"))),
                _ => SourceRef::brief(&BriefId::from_stored(format!("brief_{id}"))),
            };
            document(source_ref, age, &body)
        })
        .collect()
}

/// A plain FTS5 table, asked for any of the words.
struct Plain(Connection);

impl Plain {
    fn new(documents: &[MemoryDocument]) -> Self {
        let conn = Connection::open_in_memory().expect("opens");
        conn.execute_batch("CREATE VIRTUAL TABLE t USING fts5(source_ref UNINDEXED, title, body)")
            .expect("makes");
        for document in documents {
            let row = params![
                document.provenance.source_ref.to_string(),
                document.provenance.title,
                document.body
            ];
            conn.execute("INSERT INTO t VALUES (?1, ?2, ?3)", row)
                .expect("writes");
        }
        Self(conn)
    }

    fn search(&self, query: &str) -> Vec<String> {
        let words: Vec<String> = query
            .split_whitespace()
            .map(|word| format!("\"{}\"", word.replace('"', "")))
            .collect();
        let sql = "SELECT source_ref FROM t WHERE t MATCH ?1 ORDER BY rank LIMIT 5";
        let mut statement = self.0.prepare(sql).expect("prepares");
        let rows = statement.query_map([words.join(" OR ")], |row| row.get(0));
        rows.expect("runs").map(Result::unwrap).collect()
    }
}

fn first_five(index: &mut MemoryIndex, query: &str) -> Vec<String> {
    let search = MemorySearch {
        query: query.to_owned(),
        limit: 5,
        include_all_workspaces: false,
    };
    let workspace = WorkspaceId::from_stored("ws-1");
    let found = index
        .search(&search, &workspace, Timestamp::from_millis(NOW))
        .expect("searches");
    found
        .hits
        .iter()
        .map(|hit| hit.provenance.source_ref.to_string())
        .collect()
}

#[test]
fn most_of_what_people_look_for_is_among_the_first_five_results() {
    let targets = labelled();
    let mut documents = noise();
    documents.extend(targets.iter().map(|(document, _)| document.clone()));
    let plain = Plain::new(&documents);
    let mut index = MemoryIndex::in_memory(&owner()).expect("opens");
    put(&mut index, documents);
    let (mut asked, mut found, mut found_plainly) = (0_u32, 0_u32, 0_u32);
    for (document, queries) in &targets {
        let wanted = document.provenance.source_ref.to_string();
        for query in queries {
            asked += 1;
            found_plainly += u32::from(plain.search(query).contains(&wanted));
            let results = first_five(&mut index, query);
            if results.contains(&wanted) {
                found += 1;
            } else {
                println!("missed: {query} ({wanted}), got {results:?}");
            }
        }
    }
    let recall = |found: u32| f64::from(found) / f64::from(asked);
    println!(
        "recall@5 over {asked} queries and {} documents: {:.3}; plain FTS5: {:.3}",
        NOISE + targets.len(),
        recall(found),
        recall(found_plainly)
    );
    assert!(asked >= 100, "{asked} queries");
    assert!(recall(found) >= RECALL, "recall@5 is {:.3}", recall(found));
    assert!(found > found_plainly, "a plain table finds as much");
}
