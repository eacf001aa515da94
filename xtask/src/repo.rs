//! The checkout: its files by path relative to the root, read and written.

use crate::Failure;
use std::path::{Path, PathBuf};

/// Directories that hold nothing anyone wrote.
const SKIPPED: [&str; 2] = ["target", ".git"];

/// The checkout this tool was built from.
#[derive(Debug)]
pub(crate) struct Repo {
    root: PathBuf,
}

/// A file some chore makes.
#[derive(Debug)]
pub(crate) struct Generated {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) content: String,
}

/// A text file as it is.
#[derive(Debug)]
pub(crate) struct Source {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Repo {
    /// `xtask` stands directly under the root.
    pub(crate) fn of_this_build() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self {
            root: here.parent().unwrap_or(here).to_owned(),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn read(&self, path: &str) -> Result<String, Failure> {
        std::fs::read_to_string(self.root.join(path))
            .map_err(|error| format!("cannot read {path}: {error}"))
    }

    /// Writes a file and the directories it needs.
    pub(crate) fn write(&self, file: &Generated) -> Result<(), Failure> {
        let target = self.root.join(&file.path);
        let made = target
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&target, &file.content));
        made.map_err(|error| format!("cannot write {}: {error}", file.path))
    }

    /// The names of the crates, sorted.
    pub(crate) fn crates(&self) -> Result<Vec<String>, Failure> {
        let entries = std::fs::read_dir(self.root.join("crates"))
            .map_err(|error| format!("cannot list crates: {error}"))?;
        let mut names: Vec<String> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.path().join("Cargo.toml").is_file())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        Ok(names)
    }

    /// Every text file, sorted by path. What is not UTF-8 is no text.
    pub(crate) fn texts(&self) -> Result<Vec<Source>, Failure> {
        let mut found = Vec::new();
        self.walk(&self.root, &mut found)?;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    fn walk(&self, dir: &Path, found: &mut Vec<Source>) -> Result<(), Failure> {
        let failed = |error: std::io::Error| format!("cannot list {}: {error}", dir.display());
        for entry in std::fs::read_dir(dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (path, name) = (entry.path(), entry.file_name());
            let kind = entry.file_type().map_err(failed)?;
            let skipped = SKIPPED.iter().any(|skip| name == *skip);
            if kind.is_dir() && !skipped {
                self.walk(&path, found)?;
            } else if kind.is_file()
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                let path = self.relative(&path);
                found.push(Source { path, text });
            }
        }
        Ok(())
    }

    fn relative(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        inside.to_string_lossy().replace('\\', "/")
    }
}
