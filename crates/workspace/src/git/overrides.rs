//! Environment and configuration of every git command of the runtime.
//!
//! Overrides are passed as `GIT_CONFIG_KEY_n`, which takes any key, and has the last word over files and their includes.

use std::collections::BTreeSet;
use std::ffi::OsString;

/// Variables of every command. Nothing else is inherited.
pub(super) const ENVIRONMENT: &[(&str, &str)] = &[
    // Configuration and attributes of the user and the system.
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    // Nothing is asked, edited or paged.
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
    // Nothing is fetched, also not the missing objects of a partial clone.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_SSH", "false"),
    // The history is the one that is stored.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    // A look changes nothing, a path is no pattern, and messages are the known ones.
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("LC_ALL", "C"),
];

/// Settings of every command. They win over those of the repository.
const SETTINGS: &[(&str, &str)] = &[
    // Programs that a repository can name.
    ("core.hooksPath", "/dev/null"),
    // Since git 2.54 the configuration names hooks too. Each name that was found is switched off by itself; these switch
    // off the events of the runtime's commands as a whole, for versions of git that know such a switch.
    ("hook.post-checkout.enabled", "false"),
    ("hook.post-index-change.enabled", "false"),
    ("hook.reference-transaction.enabled", "false"),
    ("core.fsmonitor", "false"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", "false"),
    ("core.askPass", "false"),
    ("core.editor", "false"),
    ("core.pager", "cat"),
    ("core.alternateRefsCommand", "false"),
    ("sequence.editor", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("gpg.program", "false"),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.graftFileDeprecated", "false"),
    // Other repositories: those of submodules, and those that lie in the tree.
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("status.submoduleSummary", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("safe.bareRepository", "explicit"),
    // A changed file is seen as changed.
    ("core.untrackedCache", "false"),
    ("core.checkStat", "default"),
    ("core.trustctime", "true"),
    ("core.ignoreStat", "false"),
    ("core.ignoreCase", "false"),
    ("core.fileMode", "true"),
    ("status.showUntrackedFiles", "all"),
    // Files outside the repository, and names that other file systems take for `.git`.
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("checkout.workers", "1"),
    ("worktree.useRelativePaths", "false"),
];

/// Keys that change which files git works on. A repository that sets one is refused.
const REFUSED: &[&str] = &["core.worktree", "core.virtualfilesystem"];

/// Keys of the repository's own configuration that a command has to override.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RepositoryKeys {
    /// Names of the filters that are configured.
    pub(super) filters: BTreeSet<String>,
    /// Keys that name programs of diff and merge drivers.
    drivers: BTreeSet<String>,
    /// Names of the hooks that are configured, as git 2.54 and newer run them besides those of the hooks directory.
    hooks: BTreeSet<String>,
    /// First key with which the runtime's git does not work.
    pub(super) refused: Option<String>,
}

impl RepositoryKeys {
    /// Reads the keys that `git config --list --name-only -z` printed. A key that is not UTF-8 is refused.
    pub(super) fn read(printed: &[u8]) -> Self {
        let mut keys = Self::default();
        for key in printed
            .split(|byte| *byte == 0)
            .filter(|key| !key.is_empty())
        {
            match std::str::from_utf8(key) {
                Ok(key) => keys.note(key),
                Err(_) => keys.refuse(&String::from_utf8_lossy(key)),
            }
        }
        keys
    }

    fn note(&mut self, key: &str) {
        if REFUSED.contains(&key) {
            self.refuse(key);
        }
        let Some((section, rest)) = key.split_once('.') else {
            return;
        };
        let Some((name, last)) = rest.rsplit_once('.') else {
            return;
        };
        match (section, last) {
            ("filter", _) => {
                self.filters.insert(name.to_owned());
            }
            ("hook", _) => {
                self.hooks.insert(name.to_owned());
            }
            ("diff" | "merge", "command" | "textconv" | "driver") => {
                self.drivers.insert(key.to_owned());
            }
            (_, _) => {}
        }
    }

    fn refuse(&mut self, key: &str) {
        self.refused.get_or_insert_with(|| key.to_owned());
    }

    /// Returns the variables that carry every override.
    pub(super) fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut settings: Vec<(String, &str)> = SETTINGS
            .iter()
            .map(|(key, value)| ((*key).to_owned(), *value))
            .collect();
        for name in &self.filters {
            for part in ["clean", "smudge", "process"] {
                settings.push((format!("filter.{name}.{part}"), ""));
            }
            settings.push((format!("filter.{name}.required"), "false"));
        }
        for key in &self.drivers {
            settings.push((key.clone(), ""));
        }
        for name in &self.hooks {
            settings.push((format!("hook.{name}.enabled"), "false"));
        }
        let mut variables = vec![("GIT_CONFIG_COUNT".into(), settings.len().to_string().into())];
        for (number, (key, value)) in settings.into_iter().enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{number}").into(), key.into()));
            variables.push((format!("GIT_CONFIG_VALUE_{number}").into(), value.into()));
        }
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_and_drivers_of_any_name_are_switched_off() {
        let keys = RepositoryKeys::read(
            b"core.bare\0filter.a=b.c d.smudge\0filter.lfs.process\0diff.x.textconv\0merge.y.driver\0diff.renames\0",
        );
        let names: Vec<&str> = keys.filters.iter().map(String::as_str).collect();
        assert_eq!(names, ["a=b.c d", "lfs"]);
        assert_eq!(keys.refused, None);
        let variables = keys.variables();
        let has = |key: &str| {
            variables
                .iter()
                .any(|(_, value)| value.to_str() == Some(key))
        };
        for key in [
            "filter.a=b.c d.smudge",
            "filter.lfs.required",
            "diff.x.textconv",
            "merge.y.driver",
            "core.hooksPath",
        ] {
            assert!(has(key), "{key}");
        }
        assert!(!has("diff.renames"));
    }

    #[test]
    fn configured_hooks_of_any_name_are_switched_off() {
        let keys = RepositoryKeys::read(b"hook.lint.event\0hook.a.b c.command\0hook.jobs\0");
        let variables = keys.variables();
        let value_of = |key: &str| {
            let at = variables.iter().position(|(_, value)| value == key)?;
            variables.get(at + 1).map(|(_, value)| value.clone())
        };
        for name in ["lint", "a.b c", "post-checkout"] {
            let value = value_of(&format!("hook.{name}.enabled"));
            assert_eq!(value, Some("false".into()), "{name}");
        }
        assert_eq!(value_of("hook.jobs.enabled"), None);
    }

    #[test]
    fn what_moves_the_files_elsewhere_is_refused() {
        let keys = RepositoryKeys::read(b"core.bare\0core.worktree\0");
        assert_eq!(keys.refused.as_deref(), Some("core.worktree"));
        assert!(
            RepositoryKeys::read(b"filter.\xff.smudge\0")
                .refused
                .is_some()
        );
    }
}
