//! What a host says about its own activity and its last failure.

use crate::client::Client;
use crate::error::Error;
use crate::view::HostReport;

/// Status of a response for a route that the host does not have.
const NO_SUCH_ROUTE: u16 = 404;

impl Client {
    /// Returns what the host reports about itself; `None` if the host is of a build that reports nothing.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn host_report(&self) -> Result<Option<HostReport>, Error> {
        match self.get("/control/runtime/status".into()).await {
            Ok(report) => Ok(Some(report)),
            Err(Error::Api { status, .. }) if status == NO_SUCH_ROUTE => Ok(None),
            Err(error) => Err(error),
        }
    }
}
