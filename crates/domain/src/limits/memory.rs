//! Bounds of the memory of agents: its index, searches and exact reads.

/// Results of a memory search if the caller names no number.
pub const MEMORY_RESULTS: u32 = 10;
/// Most results of a memory search. More is refused.
pub const MEMORY_RESULTS_MAX: u32 = 50;
/// Characters of an exact read of memory if the caller names no number.
pub const MEMORY_CONTENT_CHARS: u32 = 12_000;
/// Most characters of an exact read of memory. More is refused.
pub const MEMORY_CONTENT_CHARS_MAX: u32 = 50_000;
/// Bytes of a query that are searched for. The rest is left out, and the answer says so: nobody remembers a page word
/// for word, and every word costs a look into the index.
pub const MEMORY_QUERY_BYTES: usize = 2_048;
/// Most different terms of one query. Further ones are left out, and the answer says so.
pub const MEMORY_QUERY_TERMS: usize = 32;
/// Largest file `memory/self.md` or `memory/operator.md` that is indexed, in bytes. A larger one is skipped, and every
/// search says so; the document of its last smaller content is removed.
pub const MEMORY_FILE_BYTES: u64 = 1 << 20;
/// Bytes of one document that are searched. Its exact text is kept whole.
pub const MEMORY_INDEXED_BYTES: usize = 256 << 10;
/// Documents of one kind that one step of a rebuild reads, so that a rebuild never holds a connection for long.
pub const MEMORY_REBUILD_STEP: usize = 500;
/// Changes of sources that one step takes into the index.
pub const MEMORY_CATCH_UP_STEP: usize = 200;
/// Milliseconds that a search spends on bringing the index up to date. What is left is reported as lag.
pub const MEMORY_CATCH_UP_MS: u64 = 1_500;
/// Milliseconds after which a search is given up.
pub const MEMORY_SEARCH_MS: u64 = 5_000;
/// Milliseconds that a use of the index waits for another process that holds it.
pub const MEMORY_LOCK_MS: u64 = 1_000;
/// Documents that a search ranks. They are chosen by the index's own order, the newest among them by their age.
pub const MEMORY_CANDIDATES: usize = 120;
/// Characters of a search result's snippet.
pub const MEMORY_SNIPPET_CHARS: usize = 240;
/// Entries of the memory outbox that are removed at once after the index has taken them.
pub const MEMORY_OUTBOX_PRUNE: u64 = 256;
/// Workspaces of one agent whose profiles are indexed.
pub const MEMORY_PROFILES: usize = 32;
