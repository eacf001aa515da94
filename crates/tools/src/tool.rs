//! The tools, one file each: typed arguments, the spec derived from them, and the interpretation of a call.
//!
//! A tool's file owns its schema, its semantic rules and, for tools that the shell performs, the result envelope and
//! its text form. Code that several tools share is in `command`, `page`, `task`, `time` and `work_item`. `registry`
//! decides which agent has which tool.

pub(crate) mod agent_get;
pub mod apply_patch;
pub(crate) mod cancel_external_trigger;
pub(crate) mod cancel_timer;
pub(crate) mod cancel_wait;
pub(crate) mod command;
pub(crate) mod complete_work_item;
pub(crate) mod create_external_trigger;
pub(crate) mod create_timer;
pub mod create_work_item;
pub(crate) mod enqueue;
pub mod exec_command;
pub mod exec_command_batch;
pub mod get_work_item;
pub mod list_timers;
pub mod list_work_items;
pub mod memory_get;
pub mod memory_search;
pub(crate) mod notify_operator;
pub(crate) mod page;
pub(crate) mod pick_work_item;
pub(crate) mod sleep;
pub(crate) mod spawn_agent;
pub mod task;
pub mod task_input;
pub(crate) mod task_list;
pub mod task_output;
pub(crate) mod task_status;
pub(crate) mod task_stop;
pub(crate) mod time;
pub(crate) mod update_work_item;
pub mod use_workspace;
pub mod view_image;
pub(crate) mod wait_for;
pub mod web_fetch;
pub mod web_search;
pub(crate) mod work_item;
