//! What a model may ask for and how it is answered: tool schemas, argument parsing, envelopes, receipts.
//!
//! Owns the road from a call's name and arguments to an `Intent`, and from a finished call to the text a model reads.
//! Deliberately absent: doing anything. Intents are decided by the kernel or performed by the shell; the envelopes of
//! intents the kernel settles by itself are written there. Everything here is a pure function of its arguments.
//! The one error type is `holon_domain::tool::ToolError`, because every failure here is an answer to a model.

mod emission;
mod input;
mod lines;
mod preview;
mod receipt;
mod registry;
mod schema;
pub mod tool;

pub use emission::{SchemaMode, emit};
pub use receipt::{item_refers_to_files, receipt, refers_to_files};
pub use registry::{all, catalog, interpret};
pub use tool::{
    apply_patch, create_work_item, exec_command, exec_command_batch, get_work_item, list_timers,
    list_work_items, task, task_input, task_output,
};
