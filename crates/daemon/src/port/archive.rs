//! Archives of agents on this machine. Blocking work runs off the async threads.

use super::model::Models;
use holon_domain::archive::{ArchiveCounts, ArchiveManifest, FORMAT};
use holon_engine::archive::{
    ArchiveFault, ArchiveMode, ArchiveSource, PackOrder, PackedArchive, ReadArchive,
};
use holon_llm::Secrets;
use holon_workspace::{ArchiveError, ArchiveLimits, CheckedArchive, LinkRoots};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Packs and reads archives.
#[derive(Debug, Clone)]
pub(crate) struct Archives {
    /// Directory in which archives are put together, on the disk of the homes.
    spool: PathBuf,
    /// Knows the secrets that no archive may hold.
    models: Arc<Models>,
    /// Directories that links of an archive from outside may lead into.
    skill_roots: Vec<PathBuf>,
}

impl Archives {
    /// Creates the packer that puts archives together in `spool`.
    pub(crate) const fn new(
        spool: PathBuf,
        models: Arc<Models>,
        skill_roots: Vec<PathBuf>,
    ) -> Self {
        Self {
            spool,
            models,
            skill_roots,
        }
    }

    /// Packs an agent without the secrets that the host knows.
    pub(crate) async fn pack(&self, order: PackOrder) -> Result<PackedArchive, ArchiveFault> {
        let secrets = self.models.all_secrets().await;
        let spool = self.spool.clone();
        off_thread(move || pack(&spool, order, &secrets)).await
    }

    /// Creates a file without a name for an upload.
    pub(crate) async fn new_upload(&self) -> Result<File, ArchiveFault> {
        let spool = self.spool.clone();
        off_thread(move || Ok(holon_workspace::new_spool(&spool)?)).await
    }

    /// Checks a whole archive.
    pub(crate) async fn read(&self, file: File) -> Result<ReadArchive, ArchiveFault> {
        let checked =
            off_thread(move || holon_workspace::check_archive(file, ArchiveLimits::default()));
        let CheckedArchive {
            manifest,
            record,
            file,
        } = checked.await?;
        Ok(ReadArchive {
            manifest,
            record,
            file,
            source: ArchiveSource::Outside,
        })
    }

    /// Makes a home from a checked archive.
    pub(crate) async fn place(
        &self,
        agent_home: &str,
        archive: ReadArchive,
    ) -> Result<(), ArchiveFault> {
        let home = PathBuf::from(agent_home);
        let links = match archive.source {
            ArchiveSource::ThisHost => LinkRoots::Any,
            ArchiveSource::Outside => LinkRoots::Under(self.skill_roots.clone()),
        };
        off_thread(move || {
            let mut checked = CheckedArchive {
                manifest: archive.manifest,
                record: archive.record,
                file: archive.file,
            };
            holon_workspace::place_archive(&home, &mut checked, &links)
        })
        .await
    }
}

fn pack(spool: &Path, order: PackOrder, secrets: &Secrets) -> Result<PackedArchive, ArchiveError> {
    let redact = |text: &str| match secrets.hide(text) {
        Cow::Owned(hidden) => Some(hidden),
        Cow::Borrowed(_) => None,
    };
    let record =
        serde_json::to_string_pretty(&order.record).map_err(|error| ArchiveError::Refused {
            reason: format!("its record cannot be written: {error}"),
        })?;
    let packing = holon_workspace::PackOrder {
        home: Path::new(&order.agent_home),
        record,
        generated: order.generated,
        redact: &redact,
        limits: ArchiveLimits::default(),
    };
    let mut body = match order.mode {
        ArchiveMode::Make => Some(holon_workspace::new_spool(spool)?),
        ArchiveMode::DryRun => None,
    };
    let mut nowhere = io::sink();
    let out: &mut dyn Write = match &mut body {
        Some(body) => body,
        None => &mut nowhere,
    };
    let packed = holon_workspace::pack_home(&packing, out)?;
    let mut left_out = order.left_out;
    left_out.extend(packed.left_out);
    let manifest = ArchiveManifest {
        format: FORMAT,
        holon_version: env!("CARGO_PKG_VERSION").to_owned(),
        exported_at: order.exported_at,
        agent: order.agent,
        template: packed.template,
        counts: ArchiveCounts {
            files: packed.files.len() as u64,
            bytes: packed.files.iter().map(|file| file.digest.bytes).sum(),
            work_items: order.record.work_items.len() as u64,
            timers: order.record.timers.len() as u64,
            workspaces: order.record.workspaces.len() as u64,
        },
        record: packed.record,
        files: packed.files,
        linked_skills: packed.linked_skills,
        left_out,
    };
    match body {
        Some(body) => {
            let sealed = holon_workspace::seal(spool, &manifest, body)?;
            Ok(PackedArchive {
                manifest,
                bytes: sealed.bytes,
                file: Some(sealed.file),
            })
        }
        None => {
            let text = serde_json::to_vec_pretty(&manifest).unwrap_or_default();
            Ok(PackedArchive {
                bytes: manifest.archive_bytes(text.len() as u64),
                manifest,
                file: None,
            })
        }
    }
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ArchiveError> + Send + 'static,
) -> Result<T, ArchiveFault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| fault(&error)),
        Err(stopped) => Err(ArchiveFault::Refused(format!(
            "the work on the archive ended early: {stopped}"
        ))),
    }
}

fn fault(error: &ArchiveError) -> ArchiveFault {
    let is_full = match error {
        ArchiveError::Files(holon_workspace::Error::Io { source, .. }) => matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ),
        ArchiveError::Files(_)
        | ArchiveError::TooLarge { .. }
        | ArchiveError::Refused { .. }
        | ArchiveError::Newer { .. }
        | ArchiveError::HomeInUse { .. } => false,
    };
    if is_full {
        ArchiveFault::DiskFull
    } else {
        ArchiveFault::Refused(error.to_string())
    }
}
