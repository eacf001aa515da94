//! The SQLite store: schema, migrations, one writer, a pool of readers, and open effects.
//!
//! Owns the one file under `<home>/state`, all SQL, and the home's lock and permissions. It decides nothing: a
//! [`Decision`](holon_domain::decision::Decision) is written as a whole or not at all. Callers see typed facts and
//! records, never a type of the database library.

mod agents;
mod aside;
mod attempts;
mod audit;
mod backup;
mod batch;
mod blobs;
mod briefs;
mod budget_sums;
mod budgets;
mod checkpoint;
mod children;
mod db;
mod delete;
mod deliveries;
mod delivery_reader;
mod delivery_summaries;
mod delivery_targets;
mod effects;
mod episodes;
mod error;
mod events;
mod exit;
mod explain_reader;
mod feed;
mod generations;
mod held_files;
mod hints;
mod history;
mod home;
mod host_events;
mod image_refs;
mod inbox;
mod interjections;
mod item_trace;
mod joining;
mod kept_replies;
mod known_agents;
mod ledger;
mod log;
mod mark;
mod member;
mod memory_index;
mod memory_outbox;
mod memory_reads;
mod memory_rows;
mod migrate;
mod model_limits;
mod note;
mod open;
mod output_refs;
mod owner;
mod page_reader;
mod passed_over;
mod past_rows;
#[cfg(test)]
mod plan_steps;
#[cfg(test)]
mod plans;
mod prompt_rows;
mod queue;
mod queue_reader;
mod reader;
mod readers;
mod relocate;
mod reserve;
mod retention;
mod row;
#[cfg(test)]
mod samples;
mod space;
mod sqlite;
mod storage_reader;
mod store;
mod survey;
mod task_reader;
mod tasks;
mod timers;
mod tokens;
mod tombstones;
mod transcript;
mod triggers;
mod turn_rows;
mod tx;
mod usage;
mod waits;
mod work_items;
mod work_reader;
mod work_rows;
mod workspace_profiles;
mod workspaces;
mod worktree_users;
mod writer;

pub use agents::{AgentPage, ListedAgent, RecoveryCursor, RecoveryPage};
pub use audit::OutstandingWork;
pub use backup::{StoreCopy, copy_store, mark_restored};
pub use budgets::BudgetChange;
pub use children::OrphanPage;
pub use db::Db;
pub use delete::Removal;
pub use deliveries::{DeliveryRow, KeptDelivery, LaneView, WaitingAgents};
pub use delivery_targets::TargetAddition;
pub use effects::{DueCursor, DuePage, DueRow, DueScope};
pub use error::{Error, WriteError};
pub use exit::{LastExit, Occupant};
pub use feed::FeedSource;
pub use held_files::{FileFate, StoreLost};
pub use home::{Home, HomeError, HomeState};
pub use host_events::{HostQuery, HostRow, HostRowContent, HostRows};
pub use inbox::{WriteClass, WriteOrder};
pub use ledger::Ledger;
pub use memory_index::{
    IndexFault, IndexHits, IndexOwner, IndexPosition, IndexState, MemoryBatch, MemoryIndex,
    SourceChange, examine_index,
};
pub use memory_reads::{EpisodeRange, MemoryReads};
pub use memory_rows::StoredProfile;
pub use model_limits::LearnedModel;
pub use owner::{HomeOwner, home_owner, is_home_denied, owner_pid, start_time};
pub use page_reader::DraftRows;
pub use past_rows::{PastRows, PastTurnRows};
pub use prompt_rows::{PromptRows, RoundUsage, StoredPrompt};
pub use reader::Reader;
pub use readers::Readers;
pub use row::AgentNo;
pub use sqlite::SqliteStore;
pub use store::{Inline, Job, Store, commit};
pub use survey::{check_pages, large_settings, learned_limits, newest_failure, survey};
pub use tokens::TokenAddition;
pub use tombstones::Tombstone;
pub use turn_rows::{
    FrameTexts, HomeOfAside, MemoryRows, RecoveryRows, TaskLook, TurnLog, TurnRows,
};
pub use tx::{Hook, Tx};
pub use work_rows::{WorkItemRows, WorkLook, WorkQueryRows};
pub use writer::Writer;
