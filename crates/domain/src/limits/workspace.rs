//! Bounds of workspaces, worktrees and their use of git.

/// Most workspaces attached to one agent. At the limit a new one is refused (`workspace_limit`) until another is
/// detached. They are listed in each status.
pub const ATTACHED_WORKSPACES: usize = 64;
/// Milliseconds that one git command of the runtime may take to look at a repository. At the limit its process group is
/// killed and the request fails.
pub const GIT_READ_MS: u64 = 20_000;
/// Milliseconds that git may take to make or remove a worktree. At the limit its process group is killed; the next
/// attempt goes on from the record of the worktree.
pub const GIT_WRITE_MS: u64 = 300_000;
/// Milliseconds that one git command may take to look at the repository of a workspace when a turn begins, and that all of
/// them may take together. A model waits for it, and is told that the state could not be read.
pub const PLACE_GIT_MS: u64 = 2_000;
/// Most bytes that such a command may print. A list of changes that is longer counts as changes.
pub const PLACE_GIT_BYTES: usize = 256 << 10;
/// Most bytes that one git command of the runtime may print. At the limit it is killed and the request fails.
pub const GIT_OUTPUT_BYTES: usize = 32 << 20;
/// Largest `.git` file, `gitdir` or `commondir` pointer that is read, in bytes. A larger one is refused.
pub const GIT_POINTER_BYTES: u64 = 8 << 10;
/// Longest label in the name of a worktree, in bytes. A longer one is cut.
pub const ISOLATION_LABEL_BYTES: usize = 40;
/// Most workspaces in the host's registry. At the limit the one that an agent was given longest ago is forgotten;
/// agents keep their own attached workspaces.
pub const WORKSPACES_REGISTERED: usize = 4_096;
/// Most agents of one execution root that a status looks at. Further ones are not named.
pub const OCCUPANTS_LISTED: usize = 16;
/// Largest record of a managed worktree, in bytes. A larger file is no record.
pub const WORKTREE_RECORD_BYTES: u64 = 64 << 10;
/// Largest reflog of a managed worktree that a clean-up reads, in bytes. A worktree with a larger one is kept.
pub const WORKTREE_REFLOG_BYTES: u64 = 1 << 20;
/// Most managed worktrees that one clean-up or list looks at, of one host. Further ones are left for the next call,
/// and the answer says so.
pub const WORKTREES_LISTED: usize = 1_000;
