//! The curated memory files of an agent, and the look at a project's root directory.
//!
//! The agent edits its files with its own commands, and a project may hold anything. No link is followed and every read
//! has a bound.

use crate::plain_file::{self, PlainFile, ReadFailure};
use holon_domain::Timestamp;
use holon_domain::WorkspaceId;
use holon_domain::limits::MEMORY_FILE_BYTES;
use holon_domain::memory::{CuratedFile, WorkspaceProfile};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, retry_on_intr};
use std::fs::{self, File};
use std::path::Path;

/// The folder of the curated files in an agent's home.
const FOLDER: &str = "memory";
/// Times that a file which changes while it is read is read again.
const ATTEMPTS: usize = 3;
/// Entries of a root directory that are looked at.
const ENTRIES: usize = 2_000;
/// Largest manifest that is read for a name, in bytes.
const MANIFEST_BYTES: u64 = 256 << 10;
/// Scripts of a `package.json` that are listed.
const SCRIPTS: usize = 8;

/// What is in the place of a curated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CuratedText {
    Absent,
    Text { text: String, changed_at: Timestamp },
    Unreadable { reason: String },
}

/// Reads a curated file of an agent as it is now.
#[must_use]
pub fn read_curated(agent_home: &Path, file: CuratedFile) -> CuratedText {
    match read_text(agent_home, file) {
        Ok(Some((text, changed_at))) => CuratedText::Text { text, changed_at },
        Ok(None) => CuratedText::Absent,
        Err(reason) => CuratedText::Unreadable { reason },
    }
}

fn read_text(agent_home: &Path, file: CuratedFile) -> Result<Option<(String, Timestamp)>, String> {
    let home = match File::open(agent_home) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| error.to_string())?,
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match retry_on_intr(|| openat(&home, FOLDER, flags, Mode::empty())) {
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR) => return Err("its folder is not a directory".to_owned()),
        opened => opened.map_err(|errno| errno.to_string())?,
    };
    for _ in 0..ATTEMPTS {
        let open = || PlainFile::open_at(&folder, file.file_name());
        let Some(found) = open().map_err(|failure| failure.to_string())? else {
            return Ok(None);
        };
        let content = match found.read(MEMORY_FILE_BYTES) {
            Err(ReadFailure::TooLarge { most, bytes }) => {
                return Err(format!(
                    "it has {bytes} bytes, more than the {most} that are indexed"
                ));
            }
            read => read.map_err(|failure| failure.to_string())?,
        };
        let after = open().map_err(|failure| failure.to_string())?;
        if !after.is_some_and(|after| is_same(&found, &after)) {
            continue;
        }
        let millis = found.stat().st_mtime.saturating_mul(1_000);
        let is_binary = content.contains(&0);
        return match String::from_utf8(content) {
            Ok(text) if !is_binary => Ok(Some((text, Timestamp::from_millis(millis)))),
            Ok(_) | Err(_) => Err("it is not text".to_owned()),
        };
    }
    Err("it changes while it is read; the next search reads it again".to_owned())
}

/// Returns true if both look like the same file that nobody wrote to in between.
fn is_same(one: &PlainFile, other: &PlainFile) -> bool {
    let parts = |file: &PlainFile| {
        let stat = file.stat();
        (stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec)
    };
    parts(one) == parts(other)
}

/// A file in a root directory, the language it speaks of, and the commands that are usual for it.
const MANIFESTS: [(&str, &str, &[&str]); 14] = [
    ("Cargo.toml", "Rust", &["cargo build", "cargo test"]),
    ("package.json", "JavaScript", &[]),
    ("tsconfig.json", "TypeScript", &[]),
    ("pyproject.toml", "Python", &["pytest"]),
    (
        "requirements.txt",
        "Python",
        &["pip install -r requirements.txt"],
    ),
    ("go.mod", "Go", &["go build ./...", "go test ./..."]),
    ("pom.xml", "Java", &["mvn test"]),
    ("build.gradle", "Java", &["gradle test"]),
    ("build.gradle.kts", "Kotlin", &["gradle test"]),
    ("Gemfile", "Ruby", &["bundle exec rake"]),
    ("composer.json", "PHP", &["composer install"]),
    ("mix.exs", "Elixir", &["mix test"]),
    ("CMakeLists.txt", "C++", &["cmake --build build"]),
    ("Makefile", "", &["make"]),
];
const INSTRUCTIONS: [&str; 4] = ["AGENTS.md", "CLAUDE.md", "README.md", "CONTRIBUTING.md"];

/// Describes a workspace by its root directory. `None` if the directory cannot be listed.
#[must_use]
pub fn profile_workspace(
    workspace_id: WorkspaceId,
    anchor: &Path,
    repository: Option<String>,
) -> Option<WorkspaceProfile> {
    let entries = fs::read_dir(anchor).ok()?;
    let names: Vec<String> = entries
        .take(ENTRIES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let has = |name: &str| names.iter().any(|found| found == name);
    let mut profile = WorkspaceProfile {
        workspace_id,
        name: anchor.file_name()?.to_string_lossy().into_owned(),
        aliases: Vec::new(),
        workspace_anchor: anchor.to_string_lossy().into_owned(),
        repository,
        instruction_files: INSTRUCTIONS
            .iter()
            .filter(|name| has(name))
            .map(|name| (*name).to_owned())
            .collect(),
        manifests: Vec::new(),
        languages: Vec::new(),
        usual_commands: Vec::new(),
    };
    for (name, language, commands) in MANIFESTS.iter().filter(|(name, ..)| has(name)) {
        profile.manifests.push((*name).to_owned());
        let language = (*language).to_owned();
        if !language.is_empty() && !profile.languages.contains(&language) {
            profile.languages.push(language);
        }
        profile
            .usual_commands
            .extend(commands.iter().map(|command| (*command).to_owned()));
    }
    read_package(anchor, &mut profile);
    Some(profile)
}

/// Adds the name and the scripts of a `package.json`.
fn read_package(anchor: &Path, profile: &mut WorkspaceProfile) {
    let read = plain_file::read(&anchor.join("package.json"), MANIFEST_BYTES);
    let Ok(Some(content)) = read else { return };
    let Ok(package) = serde_json::from_slice::<serde_json::Value>(&content) else {
        return;
    };
    let name = package.get("name").and_then(serde_json::Value::as_str);
    profile.aliases.extend(
        name.filter(|name| *name != profile.name && name.len() <= 120)
            .map(str::to_owned),
    );
    let scripts = package
        .get("scripts")
        .and_then(serde_json::Value::as_object);
    let names = scripts.into_iter().flat_map(|scripts| scripts.keys());
    let short = names.filter(|name| name.len() <= 60).take(SCRIPTS);
    profile
        .usual_commands
        .extend(short.map(|name| format!("npm run {name}")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn home() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(FOLDER)).unwrap();
        dir
    }

    fn reason(found: CuratedText) -> String {
        match found {
            CuratedText::Unreadable { reason } => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_curated_file_is_read_and_anything_else_in_its_place_is_told() {
        let dir = home();
        let path = dir.path().join("memory/self.md");
        let read = || read_curated(dir.path(), CuratedFile::SelfModel);
        assert_eq!(read(), CuratedText::Absent);
        fs::write(&path, "# Ich\n记忆").unwrap();
        assert!(matches!(read(), CuratedText::Text { text, .. } if text == "# Ich\n记忆"));
        fs::write(&path, b"a\0b").unwrap();
        assert_eq!(reason(read()), "it is not text");
        fs::write(&path, b"\xff\xfe").unwrap();
        assert_eq!(reason(read()), "it is not text");
        let large = File::create(&path).unwrap();
        large.set_len(50 << 20).unwrap();
        assert!(reason(read()).contains("52428800 bytes"));
        fs::remove_file(&path).unwrap();
        symlink("/etc/passwd", &path).unwrap();
        assert_eq!(reason(read()), "it is a symbolic link");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(reason(read()), "it is not a regular file");
    }

    #[test]
    fn a_linked_folder_is_not_followed_and_a_missing_home_has_no_file() {
        let dir = home();
        let other = tempfile::tempdir().unwrap();
        symlink(dir.path().join(FOLDER), other.path().join(FOLDER)).unwrap();
        assert_eq!(
            reason(read_curated(other.path(), CuratedFile::Operator)),
            "its folder is not a directory"
        );
        assert_eq!(
            read_curated(&other.path().join("none"), CuratedFile::Operator),
            CuratedText::Absent
        );
    }

    #[test]
    fn a_profile_names_what_the_root_directory_says() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("shop");
        fs::create_dir(&root).unwrap();
        for name in ["Cargo.toml", "AGENTS.md", "Makefile"] {
            fs::write(root.join(name), "").unwrap();
        }
        let package = r#"{"name": "@acme/shop", "scripts": {"build": "x", "test": "y"}}"#;
        fs::write(root.join("package.json"), package).unwrap();
        let profile = profile_workspace(WorkspaceId::from_stored("ws-1"), &root, None).unwrap();
        assert_eq!(profile.aliases, ["@acme/shop"]);
        assert_eq!(profile.languages, ["Rust", "JavaScript"]);
        assert_eq!(profile.instruction_files, ["AGENTS.md"]);
        let commands = [
            "cargo build",
            "cargo test",
            "make",
            "npm run build",
            "npm run test",
        ];
        assert_eq!(profile.usual_commands, commands);
        assert!(profile.text().starts_with("Workspace shop (ws-1)\npath: "));
    }
}
