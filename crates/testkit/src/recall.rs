//! How well the search of memory finds what people look for: a labelled set over a generated history in English, Chinese
//! and code, beside a plain FTS5 table. The test of the search and the bench share it.

#![allow(
    clippy::disallowed_methods,
    reason = "the plain table beside the index is no store"
)]

use holon_domain::memory::{
    CuratedFile, MemoryDocument, MemoryKind, MemoryProvenance, MemoryScope, MemorySearch, SourceRef,
};
use holon_domain::{AgentId, BriefId, Timestamp, WorkItemId, WorkspaceId};
use holon_store::{IndexOwner, IndexPosition, MemoryBatch, MemoryIndex, SourceChange};
use rusqlite::{Connection, params};

const HISTORY: &str = include_str!("recall/history.txt");
const NOW: i64 = 1_794_700_000_000;
const DAY: i64 = 86_400_000;
/// Least share of the queries whose document must be among the first five results.
pub const LEAST_RECALL: f64 = 0.97;
/// Documents around those that are looked for.
const NOISE: usize = 3_000;

/// Script of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    English,
    Chinese,
    /// It holds an identifier, a path, a version or an id.
    Code,
}

impl Script {
    pub const ALL: [Self; 3] = [Self::English, Self::Chinese, Self::Code];

    /// Returns the name of the script.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::English => "english",
            Self::Chinese => "chinese",
            Self::Code => "code",
        }
    }

    fn of(query: &str) -> Self {
        let is_han = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
        let is_mark = |c: char| "_/.:#-".contains(c) || c.is_ascii_digit();
        let is_mixed = |word: &str| {
            let mut chars = word.chars().skip(1);
            word.contains(is_mark) || chars.any(char::is_uppercase)
        };
        if query.contains(is_han) {
            Self::Chinese
        } else if query.split_whitespace().any(is_mixed) {
            Self::Code
        } else {
            Self::English
        }
    }
}

/// One query of the labelled set, and whether its document was among the first five results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub query: &'static str,
    pub script: Script,
    /// By the search of memory.
    pub found: bool,
    /// By a plain FTS5 table that is asked for any of the words.
    pub found_plainly: bool,
}

/// The outcome of the labelled set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recall {
    pub documents: usize,
    pub asked: Vec<Asked>,
}

/// Share of queries that found their document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    pub queries: usize,
    pub found: f64,
    pub found_plainly: f64,
}

impl Recall {
    /// Asks every query of the labelled set.
    ///
    /// # Panics
    /// When an index cannot be made in memory.
    #[must_use]
    pub fn measure() -> Self {
        let targets = labelled();
        let mut documents = noise();
        documents.extend(targets.iter().map(|(document, _)| document.clone()));
        let count = documents.len();
        let plain = Plain::new(&documents);
        let mut index = MemoryIndex::in_memory(&owner()).expect("opens");
        put(&mut index, documents);
        let mut asked = Vec::new();
        for (document, queries) in &targets {
            let wanted = document.provenance.source_ref.key();
            for query in queries {
                asked.push(Asked {
                    query,
                    script: Script::of(query),
                    found: first_five(&mut index, query).contains(&wanted),
                    found_plainly: plain.search(query).contains(&wanted),
                });
            }
        }
        Self {
            documents: count,
            asked,
        }
    }

    /// Returns the shares of the queries in a script, or of all.
    #[must_use]
    pub fn shares(&self, script: Option<Script>) -> Shares {
        let is_meant = |asked: &&Asked| script.is_none_or(|script| asked.script == script);
        let meant: Vec<&Asked> = self.asked.iter().filter(is_meant).collect();
        let share = |is_found: fn(&Asked) -> bool| {
            let found = meant.iter().filter(|asked| is_found(asked)).count();
            found as f64 / meant.len().max(1) as f64
        };
        Shares {
            queries: meant.len(),
            found: share(|asked| asked.found),
            found_plainly: share(|asked| asked.found_plainly),
        }
    }
}

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

fn owner() -> IndexOwner {
    IndexOwner {
        agent_id: AgentId::parse_stored("main").expect("a name"),
        birth: 1,
        epoch: "e".to_owned(),
    }
}

fn document(source_ref: SourceRef, age_days: i64, body: &str) -> MemoryDocument {
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

fn put(index: &mut MemoryIndex, documents: Vec<MemoryDocument>) {
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
                document.provenance.source_ref.key(),
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
        .map(|hit| hit.provenance.source_ref.key())
        .collect()
}
