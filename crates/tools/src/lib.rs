//! The contract between a model and the runtime: tool schemas, argument parsing, envelopes, receipts.
//!
//! Turns a call's name and arguments into an `Intent`, and a finished call into the text a model reads. Nothing is
//! executed here: the kernel decides intents or the shell performs them, and the kernel writes the envelopes of the
//! intents it decides itself. Every function is pure. The one error type is `holon_domain::tool::ToolError`, because
//! every failure here is an answer to a model.

mod emission;
mod input;
mod lines;
mod preview;
mod receipt;
mod registry;
mod schema;
pub mod tool;

pub use emission::{SchemaMode, emit};
pub use receipt::{item_refers_to_files, receipt, refers_to_files, short_receipt};
pub use registry::{all, catalog, interpret, offered, offered_briefly};
pub use tool::{
    apply_patch, create_work_item, exec_command, exec_command_batch, get_work_item, list_timers,
    list_work_items, memory_get, memory_search, task, task_input, task_output, use_workspace,
    view_image, web_fetch, web_search,
};
