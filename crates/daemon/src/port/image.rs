//! Images that agents look at: read below the execution root, checked, and copied beside the agent's claims.
//!
//! A copy has the digest of its content as name and is out of reach of commands. Requests read the copy, so that a turn
//! shows the same image in all of its rounds, whatever happens to the file. `measure` checks the bytes of any image, and
//! `sent` keeps those that operators send.

mod measure;
mod sent;

pub(super) use sent::SentImages;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holon_domain::image::{ShownImage, ViewedImage};
use holon_domain::limits::{IMAGE_BYTES, IMAGE_SIDE, IMAGES_PER_AGENT};
use holon_domain::text;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::workspace::WorkspaceEntry;
use holon_workspace::{ClaimFolders, Tree, TreeError, make_private_dir};
use measure::{ImageDefect, measure};
use rustix::fs::OFlags;
use serde_json::json;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

/// Directory of the copies, in the folder of an agent's claims.
const COPIES: &str = "images";
/// Name of a copy that is being written.
const UNFINISHED: &str = ".new";

/// Returns the directory of an agent's copies. It may not exist yet.
pub(super) fn copies(claims: &ClaimFolders, agent_home: &str) -> PathBuf {
    claims.of_agent(Path::new(agent_home)).join(COPIES)
}

/// Reads and checks an image of the workspace, and keeps a copy. `open` opens the execution root.
pub(super) fn view(
    copies: &Path,
    workspace: &WorkspaceEntry,
    file_path: &str,
    open: impl FnOnce() -> Result<Tree, TreeError>,
    to_tool_error: impl Fn(&TreeError) -> ToolError,
) -> Result<ViewedImage, ToolError> {
    let refused = |error: &TreeError| {
        let error = to_tool_error(error);
        let details = json!({ "tool_name": holon_tools::view_image::NAME, "file_path": file_path });
        error.details(details)
    };
    let relative = relative_path(workspace, file_path).ok_or_else(|| {
        let message = format!("{file_path} lies outside of the workspace");
        ToolError::new(ToolErrorKind::PathEscape, message)
            .hint("copy the file into the workspace, or use the workspace it belongs to")
    })?;
    let tree = open().map_err(|error| refused(&error))?;
    let found = tree.read(&relative, IMAGE_BYTES);
    let content = match found.map_err(|error| refused(&error))? {
        Some(found) => found.content,
        None => {
            let message = format!("there is no file {file_path}");
            return Err(ToolError::new(ToolErrorKind::FileMissing, message)
                .hint("paths are relative to the current directory of the workspace"));
        }
    };
    let image = inspect(file_path, &content)?;
    keep(copies, &image.sha256, &content).map_err(|error| {
        let message = format!("the image could not be kept: {error}");
        ToolError::new(ToolErrorKind::ToolExecutionFailed, message).retryable()
    })?;
    Ok(image)
}

/// Returns a path relative to the execution root, without `.` and `..`. `None` if it leads out.
fn relative_path(workspace: &WorkspaceEntry, file_path: &str) -> Option<String> {
    let root = Path::new(&workspace.execution_root);
    let whole = root.join(&workspace.cwd).join(file_path);
    let mut plain = PathBuf::new();
    for component in whole.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                plain.push(component);
            }
        }
    }
    let relative = plain.strip_prefix(root).ok()?.to_str()?;
    (!relative.is_empty()).then(|| relative.to_owned())
}

/// Checks the content and measures the image.
fn inspect(file_path: &str, content: &[u8]) -> Result<ViewedImage, ToolError> {
    let image = measure(content).map_err(|defect| match defect {
        ImageDefect::Unreadable(what) => {
            let message = format!("{file_path} {what}");
            ToolError::new(ToolErrorKind::UnsupportedContentType, message)
                .hint("convert it to png, jpeg, gif or webp first")
        }
        ImageDefect::TooManyPixels { width, height } => {
            let message = format!(
                "{file_path} has {width} x {height} pixels, more than {IMAGE_SIDE} on a side"
            );
            ToolError::new(ToolErrorKind::TooLarge, message)
                .hint("make a smaller copy, or cut out the part that matters")
        }
    })?;
    Ok(ViewedImage {
        file_path: file_path.to_owned(),
        media_type: image.format,
        width: image.width,
        height: image.height,
        bytes: content.len() as u64,
        sha256: text::sha256_hex(content),
    })
}

/// Writes a copy, and removes the oldest ones if there are too many.
fn keep(copies: &Path, digest: &str, content: &[u8]) -> io::Result<()> {
    write(copies, digest, content)?;
    prune(copies)
}

/// Writes a file under the name of its digest: whole or not at all, also across a power failure.
fn write(dir: &Path, digest: &str, content: &[u8]) -> io::Result<()> {
    make_private_dir(dir)?;
    let unfinished = dir.join(format!("{digest}{UNFINISHED}"));
    let mut file = fs::File::create(&unfinished)?;
    file.write_all(content)?;
    file.sync_all()?;
    holon_fault::hit("image.written");
    fs::rename(&unfinished, dir.join(digest))?;
    fs::File::open(dir)?.sync_all()
}

fn prune(copies: &Path) -> io::Result<()> {
    let mut found = Vec::new();
    for entry in fs::read_dir(copies)? {
        let entry = entry?;
        found.push((entry.metadata()?.modified()?, entry.path()));
    }
    found.sort();
    let extra = found.len().saturating_sub(IMAGES_PER_AGENT);
    found
        .iter()
        .take(extra)
        .try_for_each(|(_, path)| fs::remove_file(path))
}

/// Reads the copy of an image. `None` if it is gone or is another.
pub(super) fn load(copies: &Path, image: &ViewedImage) -> Option<ShownImage> {
    let is_digest =
        image.sha256.len() == 64 && image.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
    let content = is_digest.then(|| read(copies, &image.sha256, IMAGE_BYTES))??;
    Some(ShownImage {
        media_type: image.media_type,
        width: image.width,
        height: image.height,
        data: STANDARD.encode(&content).into(),
    })
}

/// Reads a file by its digest. `None` if it is gone, is larger than `most` bytes, or is or holds something else. A pipe in
/// its place is not waited for.
fn read(dir: &Path, digest: &str, most: u64) -> Option<Vec<u8>> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).ok()?;
    let mut options = fs::OpenOptions::new();
    let file = options.read(true).custom_flags(flags);
    let file = file.open(dir.join(digest)).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content).ok()?;
    (text::sha256_hex(&content) == digest).then_some(content)
}

#[cfg(test)]
mod tests;
