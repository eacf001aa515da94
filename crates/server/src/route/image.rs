//! The route that takes images for prompts. A prompt names them by the digests that it answers with.

use crate::body::{BodyLimit, read_within};
use crate::extract::{NoParams, Params};
use crate::gate::declared_image;
use crate::refusal::{Refusal, RequestFault};
use crate::state::Act;
use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_LENGTH;
use holon_domain::image::{ImageFault, ImageFormat, SentImage};
use holon_domain::limits::SENT_IMAGE_BYTES;
use holon_engine::Error;

/// Path of the route, which takes no JSON.
pub(crate) const PATH: &str = "/control/images";

/// `POST /control/images`: keeps the image in the body and answers with its digest. The bytes decide about the format, and
/// the declared type only has to be one of an image.
pub(crate) async fn upload(
    Act(state): Act,
    Params(NoParams {}): Params<NoParams>,
    request: Request,
) -> Result<Json<SentImage>, Refusal> {
    if declared_image(request.headers()).is_none() {
        let types = ImageFormat::ALL.map(ImageFormat::media_type).join(", ");
        return Err(RequestFault::MEDIA_TYPE
            .refuse("the body must be an image")
            .hint(format!("send \"Content-Type\" with one of: {types}")));
    }
    let announced = request.headers().get(CONTENT_LENGTH);
    let announced = announced.and_then(|value| value.to_str().ok()?.parse().ok());
    let limit = BodyLimit {
        what: "image",
        max: SENT_IMAGE_BYTES,
    };
    let content = read_within(request, limit).await;
    let content = content.map_err(|refusal| match refusal.status {
        StatusCode::PAYLOAD_TOO_LARGE => Error::from(ImageFault::TooLarge {
            bytes: announced.unwrap_or(SENT_IMAGE_BYTES + 1),
        })
        .into(),
        _ => refusal,
    })?;
    Ok(Json(state.control.keep_image(content.to_vec()).await?))
}
