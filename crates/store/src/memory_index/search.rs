//! The search: candidates by the full-text index, their order by `rank`, and the parts of their bodies that are shown.

use super::query::Query;
use super::rank::{self, Features};
use super::snippet::snippet;
use super::{IndexFault, MemoryIndex};
use holon_domain::limits::{MEMORY_CANDIDATES, MEMORY_RESULTS_MAX, MEMORY_SEARCH_MS};
use holon_domain::memory::{
    MemoryHit, MemoryKind, MemoryLag, MemoryPage, MemoryProvenance, MemoryScope, MemorySearch,
};
use holon_domain::{Timestamp, WorkspaceId, text};
use rusqlite::params;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Documents with the terms, best first. `?2` is the workspace of the search; NULL searches all.
const BEST: &str = "SELECT f.rowid, f.rank FROM documents_fts f JOIN documents d ON d.document_no = f.rowid \
     WHERE documents_fts MATCH ?1 AND (?2 IS NULL OR d.workspace_id IS NULL OR d.workspace_id = ?2) \
     ORDER BY f.rank LIMIT ?3";
/// The newest documents with the terms.
const NEWEST: &str = "SELECT f.rowid, bm25(documents_fts, 3.0, 1.0) FROM documents_fts f \
     JOIN documents d ON d.document_no = f.rowid \
     WHERE documents_fts MATCH ?1 AND (?2 IS NULL OR d.workspace_id IS NULL OR d.workspace_id = ?2) \
     ORDER BY f.rowid DESC LIMIT ?3";
/// The curated documents with any of the terms.
const CURATED: &str = "SELECT f.rowid, bm25(documents_fts, 3.0, 1.0) FROM documents_fts f \
     JOIN documents d ON d.document_no = f.rowid \
     WHERE documents_fts MATCH ?1 AND (?2 IS NULL OR d.workspace_id IS NULL OR d.workspace_id = ?2) \
     AND f.rowid IN (SELECT document_no FROM documents WHERE kind IN ('agent_memory', 'workspace_profile')) LIMIT ?3";
const LOADED: &str =
    "SELECT provenance, substr(body, 1, 65536) FROM documents WHERE document_no = ?1";
/// Virtual machine steps of SQLite between two checks of the deadline.
const STEPS_PER_CHECK: i32 = 4_000;
/// Share of the candidates that are chosen by their age.
const NEWEST_SHARE: usize = 3;

/// A document that was found, before it is ranked.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// Score of the index; larger is better.
    relevance: f64,
    has_all_terms: bool,
}

/// One question to the full-text index.
#[derive(Debug, Clone, Copy)]
struct Lookup<'a> {
    sql: &'a str,
    expression: &'a str,
    /// Workspace of the search; `None` searches all.
    scope: Option<&'a str>,
    most: usize,
    /// True if the expression asks for all terms.
    has_all_terms: bool,
}

/// The results of a search, and what of the query was used.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexHits {
    /// The query as it was searched for.
    pub query: String,
    pub hits: Vec<MemoryHit>,
    /// True if a part of the query was left out.
    pub is_query_cut: bool,
    /// True if the query holds no word.
    pub is_query_empty: bool,
}

impl IndexHits {
    /// Makes the answer of a search, with what of the query was left out among its notes.
    #[must_use]
    pub fn into_page(self, lag: MemoryLag, mut notes: Vec<String>) -> MemoryPage {
        if self.is_query_cut {
            notes.push("the query was too long, only its beginning was searched for".to_owned());
        }
        if self.is_query_empty {
            notes.push("the query holds no word, name or number".to_owned());
        }
        MemoryPage {
            query: self.query,
            results: self.hits,
            lag,
            notes,
        }
    }
}

/// The workspace that limits a document's reach; `None` if it is found from everywhere.
pub(super) fn scope_of(provenance: &MemoryProvenance) -> Option<&str> {
    match provenance.scope_kind {
        MemoryScope::Agent => None,
        MemoryScope::Workspace => provenance.workspace_id.as_ref().map(WorkspaceId::as_str),
    }
}

impl MemoryIndex {
    /// Searches the documents of the agent and of the active workspace, or of all workspaces.
    ///
    /// # Errors
    /// `TooSlow` after `limits::MEMORY_SEARCH_MS`; `Unsound` if the file turns out to be damaged.
    pub fn search(
        &mut self,
        search: &MemorySearch,
        workspace: &WorkspaceId,
        now: Timestamp,
    ) -> Result<IndexHits, IndexFault> {
        let until = Instant::now().checked_add(Duration::from_millis(MEMORY_SEARCH_MS));
        let is_late = move || until.is_some_and(|until| Instant::now() >= until);
        self.conn.progress_handler(STEPS_PER_CHECK, Some(is_late))?;
        let outcome = self.find(search, workspace, now);
        self.conn.progress_handler(0, None::<fn() -> bool>)?;
        outcome
    }

    fn find(
        &self,
        search: &MemorySearch,
        workspace: &WorkspaceId,
        now: Timestamp,
    ) -> Result<IndexHits, IndexFault> {
        let query = Query::parse(&search.query);
        let scope = (!search.include_all_workspaces).then(|| workspace.as_str());
        let candidates = self.candidates(&query, scope)?;
        let best = candidates
            .values()
            .map(|found| found.relevance)
            .fold(f64::MIN_POSITIVE, f64::max);
        let mut scored = Vec::with_capacity(candidates.len());
        for (number, found) in &candidates {
            let (provenance, body) = self.load(*number)?;
            let (has_phrase, exact) = rank::verbatim(&query, &searched_title(&provenance), &body);
            let features = Features {
                relevance: found.relevance / best,
                has_all_terms: found.has_all_terms,
                has_phrase,
                exact,
                kind: provenance.kind,
                age_ms: rank::age_ms(now, provenance.updated_at),
            };
            let told = (provenance.kind == MemoryKind::Brief).then(|| text::sha256_hex(&body));
            scored.push((rank::score(&features), *number, provenance, told));
        }
        scored.sort_by(|one, other| other.0.total_cmp(&one.0).then(other.1.cmp(&one.1)));
        // The report of an item and the outcome of its turn are two briefs with one text.
        let mut told_before = BTreeSet::new();
        scored.retain_mut(|(.., told)| told.take().is_none_or(|text| told_before.insert(text)));
        scored.truncate(search.limit.min(MEMORY_RESULTS_MAX) as usize);
        let mut hits = Vec::with_capacity(scored.len());
        for (score, number, provenance, _) in scored {
            let (_, body) = self.load(number)?;
            hits.push(MemoryHit {
                snippet: snippet(&query, &body),
                provenance,
                score,
            });
        }
        Ok(IndexHits {
            hits,
            is_query_cut: query.is_cut,
            is_query_empty: query.terms.is_empty(),
            query: query.text,
        })
    }

    fn candidates(
        &self,
        query: &Query,
        scope: Option<&str>,
    ) -> Result<BTreeMap<i64, Candidate>, IndexFault> {
        let mut found = BTreeMap::new();
        let Some(all) = query.all() else {
            return Ok(found);
        };
        let ask = |sql, most| Lookup {
            sql,
            expression: all.as_str(),
            scope,
            most,
            has_all_terms: true,
        };
        self.collect(&mut found, &ask(BEST, MEMORY_CANDIDATES))?;
        if found.len() >= MEMORY_CANDIDATES {
            self.collect(&mut found, &ask(NEWEST, MEMORY_CANDIDATES / NEWEST_SHARE))?;
        }
        self.collect(&mut found, &ask(CURATED, MEMORY_CANDIDATES))?;
        let Some(any) = query.any() else {
            return Ok(found);
        };
        let ask = |sql| Lookup {
            expression: &any,
            has_all_terms: false,
            ..ask(sql, MEMORY_CANDIDATES)
        };
        self.collect(&mut found, &ask(CURATED))?;
        if found.len() < MEMORY_CANDIDATES {
            self.collect(&mut found, &ask(BEST))?;
        }
        Ok(found)
    }

    fn collect(
        &self,
        found: &mut BTreeMap<i64, Candidate>,
        lookup: &Lookup<'_>,
    ) -> Result<(), IndexFault> {
        let mut statement = self.conn.prepare_cached(lookup.sql)?;
        let most = crate::row::limit(lookup.most);
        let mut rows = statement.query(params![lookup.expression, lookup.scope, most])?;
        while let Some(row) = rows.next()? {
            let rank: f64 = row.get(1)?;
            found.entry(row.get(0)?).or_insert(Candidate {
                relevance: -rank,
                has_all_terms: lookup.has_all_terms,
            });
        }
        Ok(())
    }

    fn load(&self, number: i64) -> Result<(MemoryProvenance, String), IndexFault> {
        let mut statement = self.conn.prepare_cached(LOADED)?;
        let (provenance, body): (String, String) =
            statement.query_row([number], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((serde_json::from_str(&provenance)?, body))
    }
}

/// The title as it is searched, with the id of the source.
fn searched_title(provenance: &MemoryProvenance) -> String {
    let path = provenance.source_path.as_deref().unwrap_or_default();
    format!(
        "{} {} {path}",
        provenance.title,
        provenance.source_ref.key()
    )
}
