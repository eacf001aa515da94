//! Agent homes and path confinement.
//!
//! Owns the directories an agent lives in, the folders with what proves that its commands ran, the rule which project it works in and that it stays the same directory, the
//! rule that nothing it names leads out of its execution root, changing files there all or nothing, and the plan files of
//! work items. Deliberately
//! absent: running commands, and any state beside the files.
//! All functions block on the filesystem; async callers put them on a thread for blocking work.

mod attachment;
mod choose;
mod claims;
mod error;
mod home;
mod plan;
mod root;
mod scratch;
mod tree;

pub use attachment::{AttachedRoot, Attachment};
pub use choose::choose;
pub use claims::{Claims, make_private_dir};
pub use error::Error;
pub use home::{check_home, make_home, remove_home};
pub use plan::{plan_folders, read_plan, remove_plan, write_plan};
pub use root::ExecutionRoot;
pub use tree::{
    After, Found, Left, Replace, RootIdentity, Settled, Tree, TreeError, forget, settle, take_back,
};
