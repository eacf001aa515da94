//! `ViewImage`: shows an image file of the workspace to a model that takes images.

use crate::input::{self, Subject};
use crate::schema;
use holon_domain::image::ViewedImage;
use holon_domain::intent::{HostAction, Intent};
use holon_domain::tool::{
    ToolEnvelope, ToolError, ToolErrorKind, ToolFamily, ToolOutcome, ToolSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub const NAME: &str = "ViewImage";
/// Longest path that a call may name, in bytes. Linux takes no longer one.
const PATH_BYTES: usize = 4_096;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// png, jpeg, gif or webp in the workspace, from cwd.
    #[schemars(length(min = 1, max = PATH_BYTES))]
    file_path: String,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Look at an image file, if your model takes images.".into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::LocalEnvironment,
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let args: Args = input::parse(spec, input)?;
    let path = args.file_path;
    if path.trim().is_empty() || path.len() > PATH_BYTES || path.contains('\0') {
        let problem = format!("it must have 1 to {PATH_BYTES} bytes and no NUL character");
        return Err(Subject::call(NAME)
            .invalid(Some("file_path"), &problem)
            .hint("name one file, relative to the current directory of the workspace"));
    }
    Ok(Intent::Host(HostAction::ViewImage { file_path: path }))
}

/// Builds the result of a call.
#[must_use]
pub fn envelope(viewed: Result<ViewedImage, ToolError>) -> ToolEnvelope {
    match viewed {
        Ok(image) => {
            let summary = format!(
                "{} ({}, {} x {})",
                image.file_path,
                image.media_type.media_type(),
                image.width,
                image.height
            );
            ToolEnvelope::success(NAME, summary, json!(image))
        }
        Err(error) => ToolEnvelope::failure(NAME, error),
    }
}

/// Builds the error for a model that takes no images.
#[must_use]
pub fn blind(model: &str) -> ToolError {
    let message = format!("{model} is not known to take images, so the file was not read");
    ToolError::new(ToolErrorKind::UnsupportedRuntimeCapability, message)
        .details(json!({ "tool_name": NAME, "model": model, "missing": "image_input" }))
        .hint(format!(
            "go on without it or ask the operator: `holon agent model set` chooses a model that sees, and if this one does, the \
             setting models.catalog.\"{model}\".image_input = true says so"
        ))
}

/// Returns the image that a call viewed; `None` for other calls and for one that failed.
#[must_use]
pub fn viewed(envelope: &ToolEnvelope) -> Option<ViewedImage> {
    match &envelope.outcome {
        ToolOutcome::Success { result } if envelope.tool_name == NAME => {
            ViewedImage::deserialize(result).ok()
        }
        ToolOutcome::Success { .. } | ToolOutcome::Error { .. } => None,
    }
}

/// Renders a viewed image. The request holds the image itself beside this text, or says why it does not.
pub(crate) fn text(image: &ViewedImage) -> String {
    format!(
        "{} ({}, {} x {}, {} bytes)",
        image.file_path,
        image.media_type.media_type(),
        image.width,
        image.height,
        image.bytes
    )
}
