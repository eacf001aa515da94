//! Routes that export, import and clone an agent. Archives are streamed in both directions and are never in memory.

use super::agent::parse_new_agent_id;
use crate::body::{JsonBody, OptionalJson};
use crate::extract::{AgentPath, NoParams, Params};
use crate::refusal::{Refusal, RequestFault};
use crate::state::Act;
use axum::Json;
use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};
use holon_api::{
    ARCHIVE_MEDIA_TYPE, CloneAgentRequest, ExportAgentRequest, ExportReport, ImportQuery,
};
use holon_domain::AgentId;
use holon_domain::archive::ImportReport;
use holon_domain::hmac;
use holon_domain::limits::{ARCHIVE_BYTES, ARCHIVE_READ_MS};
use holon_engine::archive::ArchiveMode;
use holon_engine::{ControlHandle, Error, Rejection};
use sha2::{Digest as _, Sha256};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Bytes of one part of a response.
const PART: usize = 64 << 10;

/// `POST /control/agents/{id}/export`: answers with the archive, or for a dry run with what would be in it.
pub(crate) async fn export(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(request): OptionalJson<ExportAgentRequest>,
) -> Result<Response, Refusal> {
    let mode = ArchiveMode::of(request.dry_run);
    let packed = state.control.export_agent(&agent_id, mode).await?;
    let Some(file) = packed.file else {
        return Ok(Json(ExportReport {
            agent_id,
            dry_run: true,
            bytes: packed.bytes,
            out: None,
            manifest: packed.manifest,
        })
        .into_response());
    };
    let headers = [
        (CONTENT_TYPE, ARCHIVE_MEDIA_TYPE.to_owned()),
        (CONTENT_LENGTH, packed.bytes.to_string()),
    ];
    Ok((headers, Body::from_stream(parts(File::from_std(file)))).into_response())
}

/// Reads a file to its end. A read error breaks the response off before its announced length.
fn parts(file: File) -> impl futures_util::Stream<Item = io::Result<Bytes>> {
    stream::try_unfold(file, |mut file| async move {
        let mut part = BytesMut::with_capacity(PART);
        let read = file.read_buf(&mut part).await?;
        Ok((read > 0).then(|| (part.freeze(), file)))
    })
}

/// `POST /control/agents/{id}/import`: makes a stopped agent from the archive in the body.
pub(crate) async fn import(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(query): Params<ImportQuery>,
    request: Request,
) -> Result<Json<ImportReport>, Refusal> {
    let agent_id = parse_new_agent_id(&agent_id)?;
    let declared = request.headers().get(CONTENT_TYPE);
    if declared.is_none_or(|declared| declared != ARCHIVE_MEDIA_TYPE) {
        return Err(RequestFault::MEDIA_TYPE
            .refuse("the body must be an archive")
            .hint(format!("send \"Content-Type: {ARCHIVE_MEDIA_TYPE}\"")));
    }
    let (head, body) = request.into_parts();
    let received = match head.extensions.get::<ReceivedArchive>() {
        Some(received) => received.clone(),
        None => ReceivedArchive::receive(&state.control, &head.headers, body).await?,
    };
    let archive = received.file.try_clone().map_err(|error| disk(&error))?;
    let mode = ArchiveMode::of(query.dry_run);
    let imported = state.control.import_agent(agent_id, archive, mode).await;
    Ok(Json(imported?))
}

/// An archive that was received into a file. A request with a key has it as an extension in place of its body.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedArchive {
    file: Arc<std::fs::File>,
    /// Digest of its bytes, in hexadecimal.
    pub(crate) sha256: String,
}

impl ReceivedArchive {
    /// Writes a body to a file, within the limits of size and time.
    pub(crate) async fn receive(
        control: &ControlHandle,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Self, Refusal> {
        let announced = headers.get(CONTENT_LENGTH);
        let announced = announced.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if let Some(bytes) = announced.filter(|bytes| *bytes > ARCHIVE_BYTES) {
            return Err(refuse_large(bytes));
        }
        let mut file = File::from_std(control.new_upload().await?);
        let (mut parts, mut hash) = (body.into_data_stream(), Sha256::new());
        let mut seen: u64 = 0;
        let patience = Duration::from_millis(ARCHIVE_READ_MS);
        loop {
            let part = tokio::time::timeout(patience, parts.next()).await;
            let part = part.map_err(|_| {
                RequestFault::BODY_TIMEOUT.refuse("the archive did not arrive in time")
            })?;
            let Some(part) = part else {
                break;
            };
            let part = part.map_err(|error| {
                RequestFault::BODY_BROKEN.refuse(format!("the archive broke off: {error}"))
            })?;
            seen = seen.saturating_add(part.len() as u64);
            if seen > ARCHIVE_BYTES {
                return Err(refuse_large(seen));
            }
            hash.update(&part);
            file.write_all(&part).await.map_err(|error| disk(&error))?;
        }
        file.flush().await.map_err(|error| disk(&error))?;
        Ok(Self {
            file: Arc::new(file.into_std().await),
            sha256: hmac::hex(&hash.finalize()),
        })
    }
}

fn disk(error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull.into(),
        _ => Error::Storage {
            message: format!("the archive cannot be kept: {error}"),
        }
        .into(),
    }
}

/// Refuses with the code of an oversized message, for the whole archive.
fn refuse_large(bytes: u64) -> Refusal {
    let rejection = Rejection::TooLarge {
        what: "archive",
        bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        max: usize::try_from(ARCHIVE_BYTES).unwrap_or(usize::MAX),
    };
    Refusal::from(Error::from(rejection))
        .hint("move large files out of the home of the source agent and export it again")
}

/// `POST /control/agents/{id}/clone`: makes a stopped copy of an agent.
pub(crate) async fn clone(
    Act(state): Act,
    AgentPath(agent_id): AgentPath,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<CloneAgentRequest>,
) -> Result<Json<ImportReport>, Refusal> {
    let name = AgentId::parse(&request.name).map_err(Error::from)?;
    let mode = ArchiveMode::of(request.dry_run);
    Ok(Json(
        state.control.clone_agent(&agent_id, name, mode).await?,
    ))
}
