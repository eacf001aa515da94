//! The ports of a test engine: a model that answers at once, and homes without other workspaces.

use super::archives;
use crate::ports::{SMALL_POLICY, refuse_template, says};
use async_trait::async_trait;
use holon_domain::AgentId;
use holon_domain::delta::TextSink;
use holon_domain::model::{ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::ModelPolicy;
use holon_domain::workspace::WorkspaceEntry;
use holon_engine::archive::{ArchiveFault, PackOrder, PackedArchive, ReadArchive};
use holon_engine::ports::{HomeHost, ModelClient};
use holon_engine::request::{HomeChoice, WorkspaceChoice};
use std::fs::File;
use tokio_util::sync::CancellationToken;

/// A prompt with this text is never answered.
pub const ENDLESS: &str = "for ever";

/// Answers "done" in two pieces to everything except [`ENDLESS`]. Accepts every provider except `elsewhere`.
#[derive(Debug)]
pub(super) struct ObligingModel;

#[async_trait]
impl ModelClient for ObligingModel {
    async fn call(
        &self,
        request: &ModelRequest,
        text: TextSink<'_>,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let asked = request.frame.context_blocks.last();
        if asked.is_some_and(|block| block.text.contains(ENDLESS)) {
            cancel.cancelled().await;
        }
        text("do");
        text("ne");
        says("done")
    }

    async fn check(&self, model: &ModelRef) -> Result<(), ModelFailure> {
        if model.to_string().starts_with("elsewhere/") {
            let words = "provider \"elsewhere\" is not known here; run `holon init`";
            return Err(ModelFailure::new(
                ModelFailureKind::UnsupportedTransport,
                words,
            ));
        }
        Ok(())
    }

    fn policy(&self, _model: &ModelRef) -> ModelPolicy {
        SMALL_POLICY
    }
}

/// Homes that exist without directories. Every agent works in its home; other workspaces are refused.
#[derive(Debug)]
pub(super) struct TrustedHomes;

#[async_trait]
impl HomeHost for TrustedHomes {
    async fn prepare(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        Ok(())
    }

    async fn seed(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        Ok(())
    }

    async fn make_from_template(
        &self,
        _agent_home: &str,
        choice: &HomeChoice,
    ) -> Result<(), String> {
        refuse_template(choice)
    }

    async fn pack(&self, order: PackOrder) -> Result<PackedArchive, ArchiveFault> {
        archives::pack(order)
    }

    async fn new_upload(&self) -> Result<File, ArchiveFault> {
        archives::new_upload()
    }

    async fn read_archive(&self, file: File) -> Result<ReadArchive, ArchiveFault> {
        archives::read(file)
    }

    async fn make_from_archive(
        &self,
        _agent_home: &str,
        _archive: ReadArchive,
    ) -> Result<(), ArchiveFault> {
        Ok(())
    }

    async fn remove(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        Ok(())
    }

    async fn workspace(
        &self,
        choice: &WorkspaceChoice,
        agent_home: &str,
    ) -> Result<WorkspaceEntry, String> {
        match &choice.workspace_root {
            Some(root) => Err(format!("{} does not exist", root.display())),
            None => Ok(WorkspaceEntry::agent_home(agent_home)),
        }
    }
}
