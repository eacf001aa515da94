//! Shared types of Holon, which every other crate uses.
//!
//! Owns the names, shapes and stored spelling of everything durable or on the wire: ids, envelopes, records, events,
//! decisions, effects, and every limit with its reason. It has no access to a clock, a file, a socket or randomness;
//! callers pass those in.

pub mod agent;
pub mod archive;
pub mod attempt;
pub mod authority;
pub mod block;
pub mod brief;
pub mod budget;
pub mod closure;
pub mod command;
pub mod compaction;
pub mod consequence;
pub mod context_view;
pub mod continuation;
pub mod decision;
pub mod delegation;
pub mod delivery;
pub mod delta;
pub mod effect;
pub mod event;
pub mod explanation;
pub mod failure;
pub mod feed;
pub mod file_change;
pub mod guidance;
pub mod hmac;
pub mod id;
pub mod image;
pub mod intent;
pub mod limits;
pub mod log;
pub mod marker;
pub mod memory;
pub mod message;
pub mod model;
pub mod needs;
pub mod nesting;
pub mod operator_transport;
pub mod packed;
pub mod place;
pub mod previous_exit;
pub mod prompt_plan;
pub mod prompt_view;
pub mod provider;
pub mod proxy;
pub mod queue;
pub mod refusal;
pub mod remote;
pub mod request_key;
pub mod reserved;
pub mod run;
pub mod send;
mod skip;
pub mod storage;
pub mod summary;
pub mod task;
pub mod template;
pub mod text;
pub mod thread;
pub mod time;
pub mod timer;
pub mod token_ratio;
pub mod tool;
pub mod tool_set;
pub mod tool_times;
pub mod transcript;
pub mod trigger;
pub mod turn;
pub mod usage;
pub mod visibility;
pub mod visible;
pub mod wait;
pub mod web;
pub mod work_item;
pub mod workspace;
pub mod zone;

pub use id::{
    AgentId, BindingId, BriefId, CallId, DelegationId, DeliveryId, DeliverySummaryId, Entropy,
    EpisodeId, MessageId, NotificationId, RunId, SecretId, TargetId, TaskId, TimerId, TriggerId,
    WaitId, WorkItemId, WorkspaceId,
};
pub use time::Timestamp;
