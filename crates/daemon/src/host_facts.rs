//! What this machine is, as agents are told.

use crate::checkup::login_shell;
use holon_config::Settings;
use holon_domain::place::HostFacts;
use rustix::system::uname;
use std::ffi::OsStr;

/// Shell of commands if the user has none that takes them.
const DEFAULT_SHELL: &str = "/bin/sh";

/// Looks at this machine once, when a host starts.
pub(crate) fn host_facts(settings: &Settings) -> HostFacts {
    let machine = uname();
    HostFacts {
        system: format!(
            "{} ({})",
            machine.sysname().to_string_lossy(),
            machine.machine().to_string_lossy()
        ),
        name: machine.nodename().to_string_lossy().into_owned(),
        shell: login_shell(settings).unwrap_or_else(|| DEFAULT_SHELL.to_owned()),
        has_ripgrep: is_installed("rg", settings.search_path.as_deref()),
    }
}

/// Returns true if a program of this name is in one of these directories.
fn is_installed(program: &str, search_path: Option<&OsStr>) -> bool {
    let mut dirs = search_path.into_iter().flat_map(std::env::split_paths);
    dirs.any(|dir| dir.is_absolute() && dir.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_the_directories_of_the_path_alone() {
        let (with, without) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(with.path().join("rg"), "").unwrap();
        std::fs::create_dir(without.path().join("rg")).unwrap();
        let path = |dirs: &[&std::path::Path]| std::env::join_paths(dirs).unwrap();
        let both = path(&[without.path(), with.path()]);
        assert!(is_installed("rg", Some(&both)));
        assert!(!is_installed("rg", Some(&path(&[without.path()]))));
        assert!(!is_installed("rg", None));
    }
}
