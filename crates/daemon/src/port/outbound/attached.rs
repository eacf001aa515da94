//! Files that a delivery names: what a receiver is told about each, and the parcel of a delivery with its files.
//!
//! The files themselves are not sent. A receiver that reaches the host reads them at their address while they are among
//! the newest attachments of the agent.

use holon_domain::brief::{AttachmentKind, BriefAttachment};
use holon_domain::delivery::Submission;
use holon_domain::limits::ATTACHMENTS_KEPT;
use serde::Serialize;
use std::path::PathBuf;

/// Most bytes of the JSON text about attachments in the environment of a program. The system limits one variable to
/// 128 KiB.
const JSON_BYTES: usize = 64 << 10;

/// Looks up what a delivery says about its attached files.
#[derive(Debug, Default)]
pub(crate) struct AttachedFiles {
    /// Directory with the homes of the agents.
    agents_dir: PathBuf,
    /// Address that the operator advertises, without a slash at its end.
    public_base: Option<String>,
}

/// One attached file, as a receiver is told about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct AttachedFile {
    kind: AttachmentKind,
    name: String,
    /// Path at which the host serves the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    /// The same as an address, if the operator advertises one of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Size at the time of the attempt. Absent if the file could not be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

/// A delivery with what is known about its attached files.
pub(super) struct Parcel<'a> {
    pub(super) delivery: &'a Submission,
    pub(super) files: Vec<AttachedFile>,
}

impl AttachedFiles {
    pub(crate) fn new(agents_dir: PathBuf, advertised: Option<String>) -> Self {
        let public_base = advertised.map(|base| base.trim_end_matches('/').to_owned());
        Self {
            agents_dir,
            public_base,
        }
    }

    /// Builds the parcel of a delivery.
    pub(super) async fn parcel<'a>(&self, delivery: &'a Submission) -> Parcel<'a> {
        let home = self.agents_dir.join(delivery.agent_id.as_str());
        let mut files = Vec::new();
        for attachment in delivery.record.attachments.iter().take(ATTACHMENTS_KEPT) {
            // A link is not followed, as by the route that serves the file.
            let found = tokio::fs::symlink_metadata(home.join(&attachment.name)).await;
            let found = found.ok().filter(std::fs::Metadata::is_file);
            let bytes = found.map(|found| found.len());
            files.push(self.describe(attachment, bytes));
        }
        Parcel { delivery, files }
    }

    fn describe(&self, attachment: &BriefAttachment, bytes: Option<u64>) -> AttachedFile {
        let base = self.public_base.as_deref();
        let address = |uri: &String| base.map(|base| format!("{base}{uri}"));
        AttachedFile {
            kind: attachment.kind,
            name: attachment.name.clone(),
            url: attachment.uri.as_ref().and_then(address),
            uri: attachment.uri.clone(),
            bytes,
        }
    }
}

impl Parcel<'_> {
    /// Describes the files for a person, a line for each, or an empty text.
    pub(super) fn lines(&self) -> String {
        let lines: Vec<String> = self.files.iter().map(AttachedFile::line).collect();
        lines.join("\n")
    }

    /// Describes the files for a program. Those beyond the bound of the text are left out.
    pub(super) fn json(&self) -> String {
        let whole = |count: usize| {
            let files = self.files.get(..count).unwrap_or_default();
            serde_json::json!(files).to_string()
        };
        let counts = (0..=self.files.len()).rev();
        let mut texts = counts.map(whole);
        let fitting = texts.find(|text| text.len() <= JSON_BYTES);
        fitting.unwrap_or_default()
    }
}

impl AttachedFile {
    fn line(&self) -> String {
        let size = match self.bytes {
            Some(1) => " (1 byte)".to_owned(),
            Some(bytes) => format!(" ({bytes} bytes)"),
            None => String::new(),
        };
        let address = self.url.as_ref().or(self.uri.as_ref());
        let address = address.map_or_else(String::new, |address| format!(" {address}"));
        format!("attached: {}{size}{address}", self.name)
    }
}
