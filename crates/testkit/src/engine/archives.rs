//! Archives of the test engine: the manifest and the record as one JSON text. Homes have no files.

use holon_domain::archive::{ArchiveCounts, ArchiveManifest, ArchiveRecord, EntryDigest, FORMAT};
use holon_engine::archive::{ArchiveFault, ArchiveMode, PackOrder, PackedArchive, ReadArchive};
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};

fn broken(error: impl std::fmt::Display) -> ArchiveFault {
    ArchiveFault::Refused(error.to_string())
}

/// Creates a file without a name.
pub(super) fn new_upload() -> Result<File, ArchiveFault> {
    tempfile::tempfile().map_err(broken)
}

/// Packs the record of an agent and nothing of its home.
pub(super) fn pack(order: PackOrder) -> Result<PackedArchive, ArchiveFault> {
    let manifest = ArchiveManifest {
        format: FORMAT,
        holon_version: "0".to_owned(),
        exported_at: order.exported_at,
        agent: order.agent,
        template: None,
        counts: ArchiveCounts::default(),
        record: EntryDigest {
            bytes: 0,
            sha256: String::new(),
        },
        files: Vec::new(),
        linked_skills: Vec::new(),
        left_out: order.left_out,
    };
    let text = serde_json::to_string(&(&manifest, &order.record)).map_err(broken)?;
    let bytes = text.len() as u64;
    let file = match order.mode {
        ArchiveMode::DryRun => None,
        ArchiveMode::Make => {
            let mut file = new_upload()?;
            file.write_all(text.as_bytes()).map_err(broken)?;
            file.rewind().map_err(broken)?;
            Some(file)
        }
    };
    Ok(PackedArchive {
        manifest,
        bytes,
        file,
    })
}

/// Reads an archive from its beginning.
pub(super) fn read(mut file: File) -> Result<ReadArchive, ArchiveFault> {
    let mut text = String::new();
    file.rewind().map_err(broken)?;
    file.read_to_string(&mut text).map_err(broken)?;
    let read: (ArchiveManifest, ArchiveRecord) = serde_json::from_str(&text).map_err(broken)?;
    Ok(ReadArchive {
        manifest: read.0,
        record: read.1,
        file,
        source: holon_engine::archive::ArchiveSource::Outside,
    })
}
