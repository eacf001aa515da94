//! What an error tells a caller: its stable code, its meaning and the next step, one row for each kind.

use super::Error;
use holon_domain::refusal::RefusalText;

impl Error {
    /// Returns code, meaning and next step of this kind of error.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "a table with one row for each kind")]
    pub const fn text(&self) -> RefusalText {
        match self {
            Self::Rejected(rejection) => rejection.text(),
            Self::AgentNotFound { .. } => RefusalText::with_hint(
                "agent_not_found",
                "there is no agent with this name",
                "create it with: holon agent create {agent_id}; list agents with: holon agent list",
            ),
            Self::AgentAside { .. } => RefusalText::with_hint(
                "agent_aside",
                "stored rows of the agent cannot be read or contradict each other; it does nothing until it is started again",
                "restore or mend the rows, then: holon agent start {agent_id}; other agents are not affected",
            ),
            Self::AgentUnreadable { .. } => RefusalText::with_hint(
                "agent_unreadable",
                "a stored row that the answer needs cannot be read; the agent may be at work all the same",
                "check the database with: holon doctor; what can be read of the agent: holon status --agent {agent_id}",
            ),
            Self::AgentConflict { .. } => RefusalText::with_hint(
                "agent_conflict",
                "an agent with this name exists and differs from what was asked for",
                "choose another name, or ask for the same workspace and model",
            ),
            Self::AgentId(_) => RefusalText::without_hint(
                "invalid_agent_id",
                "the name is no agent id",
                "use 1 to 64 letters, digits, `.`, `-` and `_`, no leading `.`, and no leading `tmp_` for a new agent",
            ),
            Self::Workspace { .. } => RefusalText::without_hint(
                "invalid_workspace",
                "the directory cannot be used as a workspace",
                "give an existing directory by its absolute path; the working directory must lie inside it",
            ),
            Self::Template { .. } => RefusalText::without_hint(
                "invalid_template",
                "the template cannot be applied, and nothing was made",
                "the message says why; `holon template list` shows the templates, `holon template validate` checks one",
            ),
            Self::Archive { .. } => RefusalText::without_hint(
                "invalid_archive",
                "the archive breaks a rule of its format, or an agent has more than one may hold; nothing was made",
                "the message says why; export the agent again, or move large files out of its home",
            ),
            Self::SkillInstalled { .. } => RefusalText::with_hint(
                "skill_already_installed",
                "a skill of this name is in the agent's home",
                "uninstall it first",
            ),
            Self::SkillMissing { .. } => RefusalText::with_hint(
                "skill_not_installed",
                "no skill of this name is in the agent's home",
                "`holon skills list` shows the skills of an agent",
            ),
            Self::SkillInvalid { .. } => RefusalText::without_hint(
                "invalid_skill",
                "the skill cannot be installed, and nothing was changed",
                "correct the skill as the message says and install it again",
            ),
            Self::SkillUnreachable { .. } => RefusalText::without_hint(
                "remote_skill_install_failed",
                "the skill could not be fetched from its repository, and nothing was changed",
                "the message says why; only public repositories are fetched",
            ),
            Self::SkillTimedOut { .. } => RefusalText::with_hint(
                "remote_skill_install_timeout",
                "fetching the skill took too long, and nothing was changed",
                "try again, or clone the repository and install from its directory",
            ),
            Self::WorkspaceReserved { .. } => RefusalText::with_hint(
                "workspace_reserved",
                "the workspace holds or lies in the host's own `state` or `run`, where a command that cleans its workspace would remove what proves that it ran",
                "name a directory beside the host's home, such as the project itself; without one the agent works in its own home",
            ),
            Self::TaskInput { .. } => RefusalText::without_hint(
                "task_takes_no_input",
                "the task is over, was started without an input, or its input is closed or full; nothing was written",
                "see the task with: holon task show ID",
            ),
            Self::Image(fault) => fault.text(),
            Self::MemoryNotFound { .. } => RefusalText::with_hint(
                "memory_source_not_found",
                "no document of the agent's memory has this reference",
                "copy the source_ref from a result of: holon memory search",
            ),
            Self::MemoryUnreadable { .. } => RefusalText::with_hint(
                "memory_source_unreadable",
                "a file of the agent's memory is a link, is too large, or is not text",
                "put a text file of at most 1 MiB in its place; no link is followed",
            ),
            Self::MemoryLocked => RefusalText::with_hint(
                "memory_index_locked",
                "another process holds the agent's memory index; nothing is lost, it takes up its changes later",
                "end the process that has the file open, then try again",
            ),
            Self::MemoryTooSlow { .. } => RefusalText::with_hint(
                "memory_search_too_slow",
                "the search of memory took too long and was given up",
                "search for fewer and rarer words",
            ),
            Self::MemoryUnavailable { .. } => RefusalText::with_hint(
                "memory_index_unavailable",
                "the agent's memory index cannot be used; its sources are not affected",
                "check the disk and the directory .holon/indexes in the agent's home, then: holon memory rebuild",
            ),
            Self::SecretNotKept { .. } => RefusalText::without_hint(
                "secret_not_stored",
                "the secret of a delivery target or binding could not be stored, so nothing was made",
                "mend what the message names; `holon config doctor` looks at the credential store",
            ),
            Self::NoCapabilityKey => RefusalText::with_hint(
                "no_capability_key",
                "the file `state/capability.key` of the home cannot be used, so no URL of a trigger works",
                "see its fault in the log (holon daemon logs), mend the file, and restart the host",
            ),
            Self::KeyReused => RefusalText::with_hint(
                "idempotency_key_reused",
                "the same `Idempotency-Key` was sent with another body within a day",
                "send a new key with a new request, and the same key only to repeat the same request",
            ),
            Self::RunNotRepeated => RefusalText::with_hint(
                "run_not_repeated",
                "the same request with the same `Idempotency-Key` has begun a run without an agent, which its host or the absence of its caller cut off; it may have had effects, so it is not run again",
                "look at what it has done, and send the request with a new key to run it once more",
            ),
            Self::OutcomeRemoved { .. } => RefusalText::with_hint(
                "outcome_removed",
                "the same request with the same `Idempotency-Key` was carried out before, and its answer cannot be given: only the newest large answers are kept, and retention removes old messages; it is not carried out again",
                "read what came of it, for example with `holon transcript`; send the request with a new key to carry it out once more",
            ),
            Self::OutcomeUnreadable { .. } => RefusalText::with_hint(
                "outcome_unreadable",
                "the same request with the same `Idempotency-Key` was carried out before, and its row in `kept_replies`, which holds the answer, is damaged; it is not carried out again",
                "read what came of it, for example with `holon transcript`, and check the database with: holon doctor; send the request with a new key to carry it out once more",
            ),
            Self::CursorTooOld { .. } => RefusalText::with_hint(
                "cursor_too_old",
                "some of what stood after this cursor was removed by retention; `oldest_seq` is the oldest that is kept",
                "read /status afresh, then continue with after_seq={after_seq}",
            ),
            Self::AgentReplaced { .. } => RefusalText::with_hint(
                "agent_replaced",
                "the cursor belongs to an agent of the same name that was deleted; `oldest_seq` is the first event of the new one",
                "forget what you know of the deleted agent, read /status afresh, then continue with after_seq={after_seq}",
            ),
            Self::Overloaded => RefusalText::with_hint(
                "overloaded",
                "more is waiting to be written than the host takes on",
                "try again in a moment",
            ),
            Self::DiskFull => RefusalText::with_hint(
                "disk_full",
                "there is no space left on the disk that holds the home",
                "free some space; the host goes on by itself",
            ),
            Self::CommitUnknown => RefusalText::with_hint(
                "commit_unknown",
                "the disk did not say whether the write holds",
                "it may have been taken: look at the transcript before you send it again",
            ),
            Self::StoreLost { .. } => RefusalText::with_hint(
                "store_lost",
                "files of the store were deleted, moved or replaced while the host held them; it acknowledges nothing more and ends",
                "put the store back or restore a backup, start the host again, and look at the transcript before you send it again",
            ),
            Self::ShuttingDown => RefusalText::with_hint(
                "shutting_down",
                "the host is going down",
                "try again when the host is back",
            ),
            Self::Storage { .. } => RefusalText::without_hint(
                "storage_failed",
                "the database gave an error",
                "check the disk; the host's log on its standard error has the details",
            ),
            Self::Internal { .. } => RefusalText::without_hint(
                "internal",
                "the runtime broke one of its own rules; the other agents go on",
                "look at the agent's status before you try again, and report it with the host's log",
            ),
        }
    }
}
