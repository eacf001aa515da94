//! The route that takes images for prompts.

use crate::client::{Client, default_timeout};
use crate::error::Error;
use crate::exchange::RequestBody;
use bytes::Bytes;
use holon_domain::image::{ImageFormat, SentImage};

impl Client {
    /// Uploads an image, which a prompt may then name by its digest within an hour. Idempotent.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the image or answers with something else; see [`Error`].
    pub async fn upload_image(
        &self,
        format: ImageFormat,
        bytes: Vec<u8>,
    ) -> Result<SentImage, Error> {
        let body = RequestBody::Image {
            media_type: format.media_type(),
            bytes: Bytes::from(bytes),
        };
        let response = self.send_body("/control/images".to_owned(), body, default_timeout());
        response.await?.json().await
    }
}
