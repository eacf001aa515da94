//! The runtime's git on real repositories: benign ones, hostile ones, and the states of managed worktrees.

mod arguments;
mod cleaning;
mod creating;
mod detecting;
pub(crate) mod fixture;
mod gone;
mod hostile;
mod interrupted;
mod parts;
mod records;
mod selecting;
mod state;
