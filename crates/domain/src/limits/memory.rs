//! Bounds of the memory of agents: its index, searches and exact reads, working memory and episodes.

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
pub const MEMORY_INDEXED_BYTES: usize = 1 << 20;
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
/// Turns of one episode. At this many it is finalized, so that the builder stays small.
pub const EPISODE_TURNS: u32 = 12;
/// Fewest turns of an episode that a wait or the result of a task ends. A shorter one goes on, so that an agent that
/// waits after every turn does not archive each of them.
pub const EPISODE_TURNS_MIN: u32 = 2;
/// Bytes of one entry in a list of the working memory or of an episode. Longer ones are cut.
pub const MEMORY_ENTRY_BYTES: usize = 200;
/// Files in the working memory and in an episode. The oldest are dropped.
pub const MEMORY_FILES: usize = 8;
/// Commands of an episode. The oldest are dropped.
pub const MEMORY_COMMANDS: usize = 8;
/// Checks of an episode, such as runs of tests. The oldest are dropped.
pub const MEMORY_CHECKS: usize = 8;
/// Commands of one turn that memory keeps, and as many checks. The oldest are dropped.
pub const MEMORY_TURN_COMMANDS: usize = 4;
/// Decisions in the working memory. The oldest are dropped.
pub const MEMORY_DECISIONS: usize = 6;
/// Decisions of an episode: one of each of its turns.
pub const EPISODE_DECISIONS: usize = EPISODE_TURNS as usize;
/// Entries of the checklist in the working memory. The last ones are left out.
pub const MEMORY_TODOS: usize = 12;
/// Open entries of the checklist in the working memory and in an episode. The last ones are left out.
pub const MEMORY_FOLLOWUPS: usize = 6;
/// Things that are waited for in the working memory and in an episode. The least relevant are left out.
pub const MEMORY_WAITS: usize = 4;
/// Lines of a plan in the working memory. The rest is in the plan file.
pub const MEMORY_PLAN_LINES: usize = 6;
/// Lines of a delta of the working memory.
pub const MEMORY_DELTA_LINES: usize = 6;
/// Largest summary of an episode, in bytes. A longer one is cut.
pub const EPISODE_SUMMARY_BYTES: usize = 1_200;
/// Newest episodes, and newest ones of the current work item, that are considered for a recap.
pub const EPISODE_CANDIDATES: usize = 12;
/// Episodes in the recap of a thread, for turns that it does not list one by one.
pub const EPISODES_SHOWN: usize = 3;
/// Newest episodes of a work item whose documents in memory are written anew when it is completed. Older ones go on
/// telling what was left to do at their end.
pub const EPISODES_OF_COMPLETED_ITEM: usize = 1_000;
/// Episodes in one page of a list if the caller names no number.
pub const EPISODES_PAGE: usize = 20;
/// Most episodes in one page of a list. More is refused.
pub const EPISODES_PAGE_MAX: usize = 200;
/// Episodes that one step writes to the export in the agent's home.
pub const EPISODES_EXPORT_STEP: usize = 200;
/// Bytes of the summary of an agent's context in its status. The rest of the working memory stands beside it.
pub const CONTEXT_SUMMARY_BYTES: usize = 1_024;
