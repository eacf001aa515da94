//! Command lines for the system's keyring: `secret-tool` of libsecret, which works with the keyrings of Linux desktops.
//! The host runs them.
//!
//! Without a desktop session there is no keyring; secrets are then stored in the credential file.

use std::path::Path;

pub const PROGRAM: &str = "secret-tool";

/// Returns the command that prints the secret of a profile.
#[must_use]
pub fn lookup(home: &Path, profile: &str) -> Vec<String> {
    command(&["lookup"], home, profile)
}

/// Returns the command that stores its standard input as the secret of a profile.
#[must_use]
pub fn store(home: &Path, profile: &str) -> Vec<String> {
    let label = format!("--label=Holon: {profile}");
    command(&["store", &label], home, profile)
}

/// Returns the command that removes the secret of a profile.
#[must_use]
pub fn clear(home: &Path, profile: &str) -> Vec<String> {
    command(&["clear"], home, profile)
}

fn command(verb: &[&str], home: &Path, profile: &str) -> Vec<String> {
    // One home has one name here, however the caller spells it: through a link, with `..` or with a slash at the end.
    let home = std::fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
    let home = home.to_string_lossy();
    let attributes = ["service", "holon", "home", &home, "profile", profile];
    std::iter::once(&PROGRAM)
        .chain(verb)
        .chain(&attributes)
        .map(|word| (*word).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_has_one_entry_however_it_is_spelled() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        std::fs::create_dir(&home).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&home, &link).unwrap();
        let roundabout = home.join("..").join("home").join("");
        assert_eq!(lookup(&link, "p"), lookup(&home, "p"));
        assert_eq!(lookup(&roundabout, "p"), lookup(&home, "p"));
        assert_ne!(lookup(dir.path(), "p"), lookup(&home, "p"));
    }
}
