//! Bounds of instruction files, skills and templates.

/// Largest instruction file (`AGENTS.md`, `CLAUDE.md`) that is loaded, in bytes. A larger one is not loaded, and the
/// prompt and the status say so: every prompt carries the file, so it must leave room for the work.
pub const INSTRUCTION_FILE_BYTES: u64 = 64 << 10;
/// Estimated tokens of each of the agent's two files of notes that a prompt shows. Every prompt carries them; the file is
/// there for the rest.
pub const NOTES_TOKENS: usize = 1_500;
/// Bytes of each of these files that are read: enough for the tokens that are shown, in any language.
pub const NOTES_READ_BYTES: u64 = 24_000;
/// Share of a prompt's token budget to which instruction files are cut first when the parts that are always shown do not
/// fit: one part of this many. The longest file is cut first, and the prompt names the file in which the rest is.
pub const INSTRUCTION_BUDGET_SHARE: u32 = 4;
/// Most instruction files whose content is kept in memory, so that an unchanged file is not read again. Beyond it the
/// kept contents are dropped and read again.
pub const INSTRUCTION_FILES_KEPT: usize = 256;
/// Most tokens of a workspace's instruction file below the result of the call that enters the workspace. A longer one is
/// cut, and the text names the file in which the rest is; the next turn's prompt shows it by its own bounds.
pub const ENTERED_INSTRUCTION_TOKENS: usize = 8_000;
/// Most tokens of the lines of a workspace's skills below that result. The rest is counted, and the text names the root.
pub const ENTERED_SKILL_TOKENS: usize = 2_000;
/// Largest frontmatter of a `SKILL.md`, in bytes. A skill with a larger one is not listed, and a note says why.
pub const SKILL_FRONTMATTER_BYTES: u64 = 64 << 10;
/// Largest `SKILL.md`, in bytes. A larger one is not listed: an agent opens the whole file.
pub const SKILL_FILE_BYTES: u64 = 1 << 20;
/// Most characters of a skill's description, by the public format. A longer one is not listed.
pub const SKILL_DESCRIPTION_CHARS: usize = 1_024;
/// Most directories of a skill root that are looked at; the rest is left out with a note.
pub const SKILLS_PER_ROOT: usize = 256;
/// Bytes of a command's text in which references to skills are looked for; what stands behind is not read.
pub const SKILL_COMMAND_BYTES: usize = 64 << 10;
/// Most skills that are active for one agent. At the limit the one that was used longest ago is no longer active.
pub const ACTIVE_SKILLS: usize = 64;
/// Share of a prompt's token budget that the catalogue of skills may take: one part of this many. The rest is counted,
/// and the prompt names the root in which it is.
pub const SKILL_BUDGET_SHARE: u32 = 16;
/// Most files of a skill that is installed. An installation of more fails and leaves nothing.
pub const INSTALL_FILES: usize = 5_000;
/// Most bytes of a skill that is installed. An installation of more fails and leaves nothing.
pub const INSTALL_BYTES: u64 = 50 << 20;
/// Deepest directory of a skill that is installed. An installation of a deeper one fails and leaves nothing.
pub const INSTALL_DEPTH: usize = 16;
/// Milliseconds that fetching one template or skill from a remote repository may take. At the limit git is killed, the
/// request fails and nothing is left.
pub const FETCH_MS: u64 = 120_000;
/// Most bytes that git may download for one template or skill. A partial fetch carries the directories of the
/// repository and the files of the one that was asked for. At the limit git is killed and the request fails.
pub const FETCH_BYTES: u64 = 96 << 20;
/// Most bytes of the list of a repository's files, which is read to find a skill by its name. A longer one is refused.
pub const FETCH_LIST_BYTES: usize = 32 << 20;
/// Most skills that a template may name. A template with more is refused.
pub const TEMPLATE_SKILLS: usize = 32;
/// Largest `skills.json` of a template, in bytes. A larger one is refused.
pub const TEMPLATE_SKILLS_BYTES: u64 = 64 << 10;
/// Largest text that an operator may add to the `AGENTS.md` of a new agent, in bytes. A larger one is refused.
pub const OPERATOR_SEED_BYTES: usize = 16 << 10;
