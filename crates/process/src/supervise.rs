//! The host's side of a shim: start one, find one again, and talk to it.
//!
//! Everything here may be dropped at any point; the command does not notice. Alive means that the shim holds the
//! lock of its task, also while it does not answer because its disk takes nothing; a process id is never enough. Only an
//! answer to the nonce lets the host talk to it.

mod attach;
mod boot;
mod born;
mod client;
mod end;
mod holder;
mod image;
mod kept;
mod line;
mod probe;
mod put_down;
mod shims;
mod slice;
mod start;
mod task;

pub use attach::{TaskState, attach, attach_within};
pub use image::Image;
pub use kept::kept_output;
pub use probe::Sought;
pub use put_down::{StoppedState, put_down, stop};
pub use shims::Shims;
pub use slice::Slice;
pub use start::start;
pub use task::Task;
