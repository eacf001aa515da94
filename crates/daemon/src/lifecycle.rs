//! Starting and stopping hosts from outside: what is found of a home, what to do about it, and the owner's process.
//!
//! The decisions are pure functions of what was found. The caller asks the host over its socket, starts processes and
//! prints.

mod decide;
mod found;
mod lock;
mod owner_process;

pub use decide::{
    Health, StartDecision, StartRefusal, StopDecision, WantedHost, decide_start, decide_stop,
    health,
};
pub(crate) use found::socket_at;
pub use found::{ControlAnswer, Found, SocketFound, clean_stale, look};
pub use lock::{LifecycleLock, stops};
pub use owner_process::OwnerProcess;
