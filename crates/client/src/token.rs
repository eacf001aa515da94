//! Routes about named tokens.

use crate::client::Client;
use crate::error::Error;
use crate::work::escape_segment;
use holon_api::{
    CreateTokenRequest, CreateTokenResponse, EmptyRequest, RevokeTokenResponse, TokensResponse,
};

impl Client {
    /// Makes a named token. Its secret is in this response only.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn create_token(
        &self,
        request: &CreateTokenRequest,
    ) -> Result<CreateTokenResponse, Error> {
        self.post("/control/tokens".into(), request).await
    }

    /// Lists the named tokens without their secrets.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn tokens(&self) -> Result<TokensResponse, Error> {
        self.get("/tokens".into()).await
    }

    /// Revokes a named token. Requests and streams of its holder end at once.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn revoke_token(&self, name: &str) -> Result<RevokeTokenResponse, Error> {
        let target = format!("/control/tokens/{}/revoke", escape_segment(name));
        self.post(target, &EmptyRequest::default()).await
    }
}
