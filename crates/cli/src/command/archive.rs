//! `holon agent export|import|clone`: moves agents between hosts, and copies them. The host packs and unpacks; this
//! command carries the file.

use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::progress::Progress;
use crate::render;
use crate::target::Target;
use holon_api::{CloneAgentRequest, ExportReport};
use holon_client::Upload;
use holon_domain::AgentId;
use holon_domain::archive::ustar::{self, BLOCK};
use holon_domain::archive::{ArchiveManifest, FORMAT, MANIFEST};
use holon_domain::limits::ARCHIVE_TEXT_BYTES;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// Exports an agent to a file that does not exist yet.
pub(super) async fn export(
    target: Target,
    id: String,
    out: Option<PathBuf>,
    dry_run: bool,
    output: &Output,
) -> Result<Exit, Failure> {
    let out = out.unwrap_or_else(|| PathBuf::from(format!("{id}.holon.tar")));
    let host = Host::find(target, Some(id), output)?;
    let agent_id = host.agent_id().await?;
    if dry_run {
        let report = host.check_answer(host.client().preview_export(&agent_id).await)?;
        output.answer(&report, |report| render::archive::export(report));
        return Ok(Exit::Done);
    }
    check_free(&out)?;
    let mut archive = host.check_answer(host.client().export_agent(&agent_id).await)?;
    let directory = out.parent().filter(|dir| !dir.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(directory.unwrap_or_else(|| Path::new(".")))
        .map_err(|error| unwritable(&out, &error))?;
    let mut progress = Progress::new("received", archive.bytes(), output.shows_progress());
    while let Some(part) = host.check_answer(archive.next().await)? {
        file.write_all(&part)
            .map_err(|error| unwritable(&out, &error))?;
        progress.advance(part.len() as u64);
    }
    progress.end();
    let manifest = read_manifest(&mut file.reopen().map_err(|error| unwritable(&out, &error))?)?;
    file.as_file()
        .sync_all()
        .map_err(|error| unwritable(&out, &error))?;
    file.persist_noclobber(&out)
        .map_err(|failed| unwritable(&out, &failed.error))?;
    let report = ExportReport {
        agent_id,
        dry_run: false,
        bytes: archive.bytes(),
        out: Some(out.display().to_string()),
        manifest,
    };
    output.answer(&report, render::archive::export);
    Ok(Exit::Done)
}

fn check_free(out: &Path) -> Result<(), Failure> {
    match out.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) => Err(Failure::new(
            Exit::Failed,
            "file_exists",
            format!("{} exists already", out.display()),
        )
        .hint("name another file with --out FILE")),
        Err(error) => Err(unwritable(out, &error)),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        "file_unwritable",
        format!("{} cannot be written: {error}", path.display()),
    )
}

/// Makes a stopped agent from a file.
pub(super) async fn import(
    target: Target,
    path: &Path,
    name: Option<String>,
    dry_run: bool,
    output: &Output,
) -> Result<Exit, Failure> {
    let unreadable = |error: io::Error| {
        let words = format!("{} cannot be read: {error}", path.display());
        Failure::new(Exit::Failed, "file_unreadable", words)
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        let words = format!("{} is not a file", path.display());
        return Err(Failure::new(Exit::Failed, "file_unreadable", words));
    }
    let agent_id = match name {
        Some(name) => parse_name(&name)?,
        None => parse_name(read_manifest(&mut file)?.agent.agent_id.as_str())?,
    };
    file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    let host = Host::find(target, None, output)?;
    let bytes = found.len();
    let progress = Progress::new("sent", bytes, output.shows_progress());
    let reader = progress.watch(tokio::fs::File::from_std(file));
    let upload = Upload::new(Box::pin(reader), bytes);
    let imported = host.client().import_agent(&agent_id, upload, dry_run).await;
    let report = host.check_answer(imported)?;
    output.answer(&report, |report| render::archive::import(report));
    Ok(Exit::Done)
}

/// Makes a stopped copy of an agent.
pub(super) async fn clone(
    target: Target,
    id: String,
    name: String,
    dry_run: bool,
    output: &Output,
) -> Result<Exit, Failure> {
    parse_name(&name)?;
    let host = Host::find(target, Some(id), output)?;
    let agent_id = host.agent_id().await?;
    let request = CloneAgentRequest { name, dry_run };
    let cloned = host.client().clone_agent(&agent_id, &request).await;
    let report = host.check_answer(cloned)?;
    output.answer(&report, |report| render::archive::import(report));
    Ok(Exit::Done)
}

fn parse_name(name: &str) -> Result<AgentId, Failure> {
    AgentId::parse(name).map_err(|error| Failure::usage(format!("{name:?}: {error}")))
}

/// Reads the manifest at the beginning of an archive. The host checks the rest.
fn read_manifest(file: &mut File) -> Result<ArchiveManifest, Failure> {
    let refused = |reason: String| {
        let words = format!("the file is no archive of an agent: {reason}");
        Failure::new(Exit::Failed, "invalid_archive", words)
            .hint("write one with: holon agent export AGENT")
    };
    let io = |error: io::Error| refused(error.to_string());
    let mut block = [0; BLOCK];
    file.read_exact(&mut block).map_err(io)?;
    let header = ustar::decode(&block).map_err(|fault| refused(fault.to_string()))?;
    let header = header.filter(|header| header.path == MANIFEST);
    let header = header.ok_or_else(|| refused("it does not begin with a manifest".to_owned()))?;
    if header.bytes > ARCHIVE_TEXT_BYTES {
        return Err(refused("its manifest is too large".to_owned()));
    }
    let mut text = Vec::new();
    file.take(header.bytes).read_to_end(&mut text).map_err(io)?;
    let value: Value = serde_json::from_slice(&text).map_err(|error| refused(error.to_string()))?;
    let format = value.get("format").and_then(Value::as_u64).unwrap_or(0);
    if format > u64::from(FORMAT) {
        return Err(refused(format!(
            "it has format {format}, and this build reads up to {FORMAT}; use a newer build"
        )));
    }
    serde_json::from_value(value).map_err(|error| refused(error.to_string()))
}
