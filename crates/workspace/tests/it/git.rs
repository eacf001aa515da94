//! The runtime's git on real repositories: benign ones, hostile ones, and the states of managed worktrees.

mod arguments;
mod cleaning;
mod creating;
mod detecting;
mod fixture;
mod hostile;
mod selecting;
