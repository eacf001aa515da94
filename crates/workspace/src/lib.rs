//! Agent homes, workspaces and path confinement.
//!
//! Owns the directories an agent lives in, the templates they are made from and the archives they travel in, the
//! instruction files and skills that guide it, the folders with the evidence that its commands ran, the choice of its
//! project and the check that it stays the same directory, the runtime's hardened git and its worktrees, the confinement
//! of paths to an execution root, atomic changes of several files there, and the plan files of work items. It starts no
//! program but git and keeps no state beside the files. All functions block on the filesystem; async callers run them
//! on a blocking thread.

mod archive;
mod attachment;
mod choose;
mod claims;
mod episode_file;
mod error;
mod fetch;
mod git;
mod home;
mod instructions;
mod memory_file;
mod notes;
mod origin;
mod plain_file;
mod plan;
mod repository_state;
mod root;
mod scratch;
mod select;
mod skill;
mod stamp;
mod template;
mod tree;
mod worktree;

pub use archive::{
    ArchiveError, ArchiveLimits, CheckedArchive, LinkRoots, PackOrder, PackedHome, SealedArchive,
    check_archive, new_spool, pack_home, place_archive, redact_tokens, seal,
};
pub use attachment::{AttachedRoot, Attachment};
pub use choose::choose;
pub use claims::{ClaimFolders, make_private_dir};
pub use episode_file::{ExportedEpisode, export_episodes, newest_exported_episode};
pub use error::Error;
pub use fetch::{FetchError, FetchedTree, Fetcher, GitHost};
pub use git::{
    BranchName, CommitId, Detection, Git, GitError, GitOutput, Repository, detect, slug,
};
pub use home::{check_home, ensure_guide, make_home, remove_home};
pub use instructions::InstructionReader;
pub use memory_file::{CuratedText, profile_workspace, read_curated};
pub use notes::read_notes;
pub use origin::{GitHubCheckout, github_checkout};
pub use plan::{plan_folders, read_plan, remove_plan, write_plan};
pub use root::ExecutionRoot;
pub use select::{WorkspaceSelection, check_homes};
pub use skill::{
    BUILTIN_SKILLS, ReadySkill, SkillError, SkillMetadata, SkillReader, install_skill,
    installed_skills, parse_skill, skill_change, uninstall_skill, user_skill_roots,
};
pub use template::{
    BUILTIN_TEMPLATES, SeedReport, Template, TemplateError, TemplateListing, TemplateOrder,
    TemplateOrigin, TemplateSkill, TemplateStore, apply_template, confirm_home, is_unconfirmed,
};
pub use tree::{
    FileChange, FileContent, Leftover, NewContent, RootIdentity, SettleOutcome, Tree, TreeError,
    forget, settle, take_back,
};
pub use worktree::{MadeWorktree, ManagedWorktrees, NewWorktree, WorktreeListing};
