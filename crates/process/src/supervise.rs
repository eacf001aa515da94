//! The host's side of a shim: starts one, finds one again, and talks to it.
//!
//! Every future here may be dropped at any point without affecting the command. A shim is alive if it holds the lock
//! of its command, also while it does not answer because of a full disk; a process id alone proves nothing. The host
//! talks only to a shim that answers to the nonce.

mod attach;
mod birth_record;
mod boot;
mod claim_lock;
mod client;
mod end;
mod image;
mod line;
mod output_files;
mod probe;
mod shimmed_command;
mod shims;
mod slice;
mod start;
mod stop;

pub use attach::{ShimmedState, attach, attach_within};
pub use image::Image;
pub use output_files::kept_output;
pub use probe::CommandLocator;
pub use shimmed_command::ShimmedCommand;
pub use shims::Shims;
pub use slice::Slice;
pub use start::start;
pub use stop::{StoppedState, kill_command, stop};
