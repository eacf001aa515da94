//! Performs web tools, and looks at images. Both only read: a call that was cut off is made again.

use super::Shell;
use crate::tool_outcome::ToolRunOutcome;
use crate::tool_run::ToolRun;
use holon_domain::model::ModelRef;
use holon_domain::web::{WebFetch, WebSearch};
use holon_tools::{view_image, web_fetch, web_search};
use tokio_util::sync::CancellationToken;

impl Shell {
    pub(super) async fn web_fetch(
        &self,
        request: WebFetch,
        cancel: CancellationToken,
    ) -> Option<ToolRunOutcome> {
        let fetching = self.ports.web.fetch(request);
        let fetched = self.unless_cancelled(fetching, cancel).await?;
        Some(ToolRunOutcome::result(web_fetch::envelope(fetched)))
    }

    pub(super) async fn web_search(
        &self,
        request: WebSearch,
        cancel: CancellationToken,
    ) -> Option<ToolRunOutcome> {
        let searching = self.ports.web.search(request);
        let found = self.unless_cancelled(searching, cancel).await?;
        Some(ToolRunOutcome::result(web_search::envelope(found)))
    }

    /// Waits for a read. `None` if its turn is cancelled or the host goes down; a restart repeats it.
    async fn unless_cancelled<T>(
        &self,
        read: impl Future<Output = T>,
        cancel: CancellationToken,
    ) -> Option<T> {
        tokio::select! {
            read = read => Some(read),
            () = cancel.cancelled() => None,
            () = self.draining.cancelled() => None,
        }
    }

    /// Looks at an image, if the model of the turn takes images.
    pub(super) async fn view_image(&self, run: &ToolRun, file_path: String) -> ToolRunOutcome {
        let sees = |model: &ModelRef| self.ports.model.policy(model).image_input;
        let viewed = match &run.model {
            Some(model) if !sees(model) => Err(view_image::blind(&model.to_string())),
            Some(_) | None => self.ports.file.view_image(run.context(), file_path).await,
        };
        ToolRunOutcome::result(view_image::envelope(viewed))
    }
}
