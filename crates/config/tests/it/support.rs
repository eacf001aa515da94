//! An environment, a home and settings for tests.

use holon_config::{Env, FileSettings, Flags, ProviderEntry, Settings, resolve};
use holon_domain::time::Timestamp;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The time of every test.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// An environment with these variables, and a home.
pub(crate) fn env(pairs: &[(&str, &str)]) -> Env {
    let pairs: Vec<(String, OsString)> = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), OsString::from(value)))
        .collect();
    let lookup = move |name: &str| {
        let set = pairs.iter().find(|(known, _)| known == name);
        set.map(|(_, value)| value.clone())
            .or_else(|| (name == "HOME").then(|| "/nowhere/u".into()))
    };
    Env::from_lookup(lookup, Some("/here".into()))
}

/// A home with nothing in it.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Puts a file there with these permission bits.
    pub(crate) fn put(&self, name: &str, content: &str, mode: u32) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, content).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
        path
    }

    /// The settings of this home.
    pub(crate) fn settings(&self, env: &Env, content: &str) -> Settings {
        let file = FileSettings::parse(content, Path::new("/c")).expect("parses");
        resolve(env, &self.flags(), Some(&file)).expect("resolves")
    }

    pub(crate) fn flags(&self) -> Flags {
        Flags {
            home: Some(self.path().to_owned()),
            ..Flags::default()
        }
    }

    /// One provider of this home.
    pub(crate) fn provider(&self, id: &str, content: &str) -> ProviderEntry {
        let settings = self.settings(&env(&[]), content);
        settings.providers.get(id).expect("is there").clone()
    }

    /// Every file there, by name.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).expect("lists");
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }
}
