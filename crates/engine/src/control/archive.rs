//! Operator requests that export an agent, import one from an archive, and clone one.
//!
//! A clone is an export and an import on the same host. The home of an imported agent is made before its row, like that
//! of a template: a crash in between leaves a marked home, which the next start removes.

mod rows;

use self::rows::read_rows;
use super::ControlHandle;
use crate::archive::{
    ArchiveFault, ArchiveMode, ArchiveSource, PackOrder, PackedArchive, ReadArchive,
};
use crate::error::Error;
use holon_core::import::{self, ImportedAgent, check_record};
use holon_domain::agent::{AgentIdentity, AgentKind, Ownership, ProfilePreset, Visibility};
use holon_domain::archive::{
    ArchiveManifest, ArchivedAgent, ArchivedFile, ImportOrigin, ImportReport, ImportedFile,
    ImportedWorkspace, WorkspaceImport,
};
use holon_domain::limits::KEPT_RESPONSE_BYTES;
use holon_domain::request_key::RequestKey;
use holon_domain::workspace::{
    AttachedWorkspace, UseMode, UseWorkspace, WorkspaceErrorKind, WorkspaceOrder,
    WorkspaceSelector, WorkspaceSet,
};
use holon_domain::{AgentId, WorkspaceId};
use std::fs::File;
use std::sync::Arc;

impl ControlHandle {
    /// Packs an agent into an archive without secrets. The agent goes on meanwhile; each file is taken as it is read.
    ///
    /// # Errors
    /// When there is no such agent, it has more than an archive may hold, or its files cannot be read.
    pub async fn export_agent(
        &self,
        agent_id: &AgentId,
        mode: ArchiveMode,
    ) -> Result<PackedArchive, Error> {
        self.find_public(agent_id).await?;
        let id = agent_id.clone();
        let read = self.readers.read(move |reader| read_rows(reader, &id));
        let rows = self.shell.read_or_put_aside(agent_id, read).await?;
        let rows = rows.ok_or_else(|| Error::AgentNotFound {
            agent_id: agent_id.clone(),
        })?;
        let order = PackOrder {
            agent_home: rows.agent.agent_home.clone(),
            agent: ArchivedAgent {
                agent_id: agent_id.clone(),
                kind: rows.agent.identity.kind,
                profile_preset: rows.agent.identity.profile_preset,
                created_at: rows.agent.created_at,
                worked_in: rows.agent.workspace.cwd.clone(),
            },
            exported_at: self.shell.ports.clock.now(),
            record: rows.record,
            generated: rows.generated,
            left_out: rows.left_out,
            mode,
        };
        self.shell.ports.home.pack(order).await.map_err(refused)
    }

    /// Creates a file without a name for an archive that is being received.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub async fn new_upload(&self) -> Result<File, Error> {
        self.shell.ports.home.new_upload().await.map_err(refused)
    }

    /// Makes a stopped agent from an archive. A repetition of a request that has made it gets the same report.
    ///
    /// # Errors
    /// When the name is taken, the archive is refused, the key of the request was used for another request, or storage
    /// fails. Nothing was made.
    pub async fn import_agent(
        &self,
        agent_id: AgentId,
        archive: File,
        mode: ArchiveMode,
    ) -> Result<ImportReport, Error> {
        if let Some(report) = self.kept_report(&agent_id).await? {
            return Ok(report);
        }
        let read = self.shell.ports.home.read_archive(archive).await;
        self.make_imported(agent_id, read.map_err(refused)?, mode)
            .await
    }

    /// Makes an agent from an archive of this host.
    async fn import_own(
        &self,
        agent_id: AgentId,
        archive: File,
        mode: ArchiveMode,
    ) -> Result<ImportReport, Error> {
        let read = self.shell.ports.home.read_archive(archive).await;
        let own = ReadArchive {
            source: ArchiveSource::ThisHost,
            ..read.map_err(refused)?
        };
        self.make_imported(agent_id, own, mode).await
    }

    /// Makes a stopped copy of an agent. A repetition of a request that has made it gets the same report.
    ///
    /// # Errors
    /// When there is no such agent, the name is taken, the agent has more than an archive may hold, the key of the request
    /// was used for another request, or storage fails.
    pub async fn clone_agent(
        &self,
        agent_id: &AgentId,
        name: AgentId,
        mode: ArchiveMode,
    ) -> Result<ImportReport, Error> {
        if let Some(report) = self.kept_report(&name).await? {
            return Ok(report);
        }
        self.check_free(&name).await?;
        let packed = self.export_agent(agent_id, ArchiveMode::Make).await?;
        let Some(file) = packed.file else {
            return Err(Error::Internal {
                message: "an export without a file".to_owned(),
            });
        };
        self.import_own(name, file, mode).await
    }

    /// Returns the report that is kept for this request, if it made the agent before. It counts also if that agent was
    /// removed since: a repetition must not make it again.
    async fn kept_report(&self, agent_id: &AgentId) -> Result<Option<ImportReport>, Error> {
        let Some(key) = self.request.clone() else {
            return Ok(None);
        };
        let kept = self.read_kept(&key, Some(agent_id.clone()), true).await?;
        let report = kept.map(|kept| serde_json::from_str(&kept));
        report.transpose().map_err(|_| Error::KeyReused)
    }

    /// Returns what is kept of a report in the commit that makes its agent. A report that is too long is not kept.
    fn reply_to_keep(&self, report: &ImportReport) -> Option<(Arc<RequestKey>, String)> {
        let key = self.request.clone()?;
        let text = serde_json::to_string(report).ok()?;
        (text.len() <= KEPT_RESPONSE_BYTES).then_some((key, text))
    }

    /// Removes the homes that creations left behind when the last process ended before their agents were stored.
    pub(crate) async fn remove_leftover_homes(self) {
        let home = &self.shell.ports.home;
        for agent_id in home.unconfirmed_homes().await {
            // A creation that runs now has a marked home too.
            let _alone = self.creating.lock().await;
            if !matches!(self.find(&agent_id).await, Ok(None)) {
                continue;
            }
            let agent_home = format!("{}/{agent_id}", self.agents_dir);
            match home.remove(&agent_id, &agent_home).await {
                Ok(()) => tracing::info!(
                    agent_home,
                    "the home of an agent that was never made was removed"
                ),
                Err(reason) => tracing::warn!(agent_home, reason, "a leftover home stays"),
            }
        }
    }

    async fn check_free(&self, agent_id: &AgentId) -> Result<(), Error> {
        match self.find(agent_id).await? {
            Some(_) => Err(Error::AgentConflict {
                agent_id: agent_id.clone(),
                reason: "an import or a clone makes a new agent only".to_owned(),
            }),
            None => Ok(()),
        }
    }

    async fn make_imported(
        &self,
        agent_id: AgentId,
        mut archive: ReadArchive,
        mode: ArchiveMode,
    ) -> Result<ImportReport, Error> {
        let _alone = self.creating.lock().await;
        self.check_free(&agent_id).await?;
        let now = self.shell.ports.clock.now();
        check_record(&archive.record, now).map_err(|reason| Error::Archive {
            message: format!("the archive is refused: {reason}"),
        })?;
        let (attached, workspaces) = self.look_at(&agent_id, &archive.record.workspaces).await;
        archive.record.workspaces = attached;
        let origin = ImportOrigin {
            agent_id: archive.manifest.agent.agent_id.clone(),
            exported_at: archive.manifest.exported_at,
        };
        let report = ImportReport {
            agent_id: agent_id.clone(),
            dry_run: mode == ArchiveMode::DryRun,
            origin: origin.clone(),
            counts: archive.manifest.counts,
            files: imported_files(&archive.manifest),
            workspaces,
            left_out: archive.manifest.left_out.clone(),
            notes: self.notes(&agent_id, &archive).await,
        };
        match mode {
            ArchiveMode::DryRun => {}
            ArchiveMode::Make => {
                let kept = self.reply_to_keep(&report);
                self.make_home_and_row(agent_id, archive, origin, kept)
                    .await?;
            }
        }
        Ok(report)
    }

    /// Makes the home, and then the row. The home is removed if the row cannot be made.
    async fn make_home_and_row(
        &self,
        agent_id: AgentId,
        archive: ReadArchive,
        origin: ImportOrigin,
        kept: Option<(Arc<RequestKey>, String)>,
    ) -> Result<(), Error> {
        let kind = if agent_id == *self.default_agent {
            AgentKind::Default
        } else {
            AgentKind::Named
        };
        let identity = AgentIdentity {
            agent_id: agent_id.clone(),
            kind,
            visibility: Visibility::Public,
            ownership: Ownership::SelfOwned,
            profile_preset: ProfilePreset::PublicNamed,
            lineage_parent_agent_id: None,
            root_agent_id: None,
        };
        let new = self.new_agent(identity, &Default::default(), None).await?;
        let agent_home = new.agent_home.clone();
        let imported = ImportedAgent {
            new,
            record: archive.record.clone(),
            origin,
        };
        import::check_settings(&imported, self.now())?;
        let bytes = usize::try_from(archive.manifest.record.bytes).unwrap_or(usize::MAX);
        let home = &self.shell.ports.home;
        let made = home.make_from_archive(&agent_home, archive).await;
        made.map_err(refused)?;
        holon_fault::hit("import.home_made");
        let stored = self.shell.import(imported, bytes, kept).await;
        holon_fault::hit("import.stored");
        match stored {
            // The mark of the home goes now and not at the first start, because the agent exists.
            Ok(()) => {
                if let Err(reason) = home.prepare(&agent_id, &agent_home).await {
                    tracing::warn!(agent_home, reason, "an imported home was not looked at");
                }
                Ok(())
            }
            // The commit may have taken effect, so the home must stay.
            Err(error @ (Error::CommitUnknown | Error::StoreLost { .. } | Error::ShuttingDown)) => {
                Err(error)
            }
            // Another caller created the agent meanwhile: the home is that agent's.
            Err(error @ Error::AgentConflict { .. }) => Err(error),
            Err(error) => {
                if let Err(reason) = home.remove(&agent_id, &agent_home).await {
                    tracing::warn!(
                        agent_home,
                        reason,
                        "the home of an agent that was not made stays"
                    );
                }
                Err(error)
            }
        }
    }

    /// Looks at the workspaces of a record. A missing one stays attached, so that it can be used once it is there; one
    /// that the host refuses is not attached.
    async fn look_at(
        &self,
        agent_id: &AgentId,
        wanted: &[AttachedWorkspace],
    ) -> (Vec<AttachedWorkspace>, Vec<ImportedWorkspace>) {
        let (mut attached, mut report) = (Vec::new(), Vec::new());
        for workspace in wanted {
            let path = workspace.workspace_anchor.clone();
            let order = WorkspaceOrder {
                agent_id: agent_id.clone(),
                agent_home: format!("{}/{agent_id}", self.agents_dir),
                current_cwd: "/".to_owned(),
                attached: WorkspaceSet::default(),
                may_attach: true,
                request: UseWorkspace {
                    selector: WorkspaceSelector::Path(path.clone()),
                    mode: UseMode::Direct,
                    cwd: None,
                    isolation_label: None,
                },
                request_key: String::new(),
            };
            let state = match self.shell.ports.workspace.attach(order).await {
                Ok(found) => {
                    attached.push(found);
                    WorkspaceImport::Attached
                }
                Err(failure) if is_missing(failure.kind, &path) => {
                    attached.push(unseen_workspace(&path));
                    WorkspaceImport::Missing
                }
                Err(_) => WorkspaceImport::Refused,
            };
            report.push(ImportedWorkspace { path, state });
        }
        (attached, report)
    }

    /// Lists what the operator should know before the agent is started.
    async fn notes(&self, agent_id: &AgentId, archive: &ReadArchive) -> Vec<String> {
        let mut notes = vec![format!(
            "the agent is stopped and works in its home; start it with: holon agent start {agent_id}"
        )];
        let worked_in = &archive.manifest.agent.worked_in;
        let in_workspace = archive.record.workspaces.iter();
        let mut in_workspace =
            in_workspace.filter(|known| worked_in.starts_with(&known.workspace_anchor));
        if in_workspace.next().is_some() {
            let quoted = quote_word(worked_in);
            notes.push(format!(
                "its source worked in {quoted}; go there with: holon workspace use {quoted} --agent {agent_id}"
            ));
        }
        notes.extend(archive.manifest.linked_skills.iter().map(|link| {
            let target = quote_word(&link.target);
            format!(
                "its skill {} is a link to {target}, which is made again if that is a skill of the user on this machine; \
                 otherwise install it with: holon skills install DIRECTORY --agent {agent_id}",
                quote_word(&link.name)
            )
        }));
        let now = self.shell.ports.clock.now();
        let passed = archive.record.timers.iter();
        let passed = passed.filter(|timer| timer.next_fire_at <= now).count();
        if passed > 0 {
            notes.push(format!(
                "{passed} of its timers have slots that have passed; at the start each acts as its policy for missed slots says"
            ));
        }
        if let Some(own) = &archive.record.model
            && let Err(error) = self.check(&own.model).await
        {
            notes.push(format!(
                "its model {} cannot be asked here: {error}; choose another with: holon agent model set",
                own.model
            ));
        }
        notes
    }
}

/// Returns the workspace of a path where nothing is yet. The archive's own id and repository are claims of its author
/// that would stand in the host's registry, so the id follows from the path and no repository is named.
fn unseen_workspace(path: &str) -> AttachedWorkspace {
    AttachedWorkspace {
        workspace_id: WorkspaceId::of_anchor(path),
        workspace_anchor: path.to_owned(),
        repository: None,
    }
}

/// Quotes a word of a command line for a shell.
fn quote_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Returns true if a workspace is refused only because nothing is at its path.
fn is_missing(kind: WorkspaceErrorKind, path: &str) -> bool {
    kind == WorkspaceErrorKind::InvalidPath
        && path.starts_with('/')
        && !path.split('/').any(|part| part == "..")
}

fn imported_files(manifest: &ArchiveManifest) -> Vec<ImportedFile> {
    let file = |file: &ArchivedFile| ImportedFile {
        path: file.path.clone(),
        bytes: file.digest.bytes,
    };
    manifest.files.iter().map(file).collect()
}

fn refused(fault: ArchiveFault) -> Error {
    match fault {
        ArchiveFault::Refused(message) => Error::Archive { message },
        ArchiveFault::DiskFull => Error::DiskFull,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_that_was_not_seen_has_the_id_of_its_path_and_no_repository() {
        let unseen = unseen_workspace("/srv/project");
        assert_eq!(unseen.workspace_id.as_str(), "ws-4f3f91f6b0b47e3bebd4");
        assert_eq!(unseen.workspace_anchor, "/srv/project");
        assert_eq!(unseen.repository, None);
    }

    #[test]
    fn a_path_in_a_hint_is_one_word_of_a_shell() {
        assert_eq!(quote_word("/srv/project-1"), "/srv/project-1");
        assert_eq!(quote_word("/a b;rm -rf ~"), "'/a b;rm -rf ~'");
        assert_eq!(quote_word("/it's"), "'/it'\\''s'");
    }
}
