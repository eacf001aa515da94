//! The fingerprint of a host's effective configuration, by which a start recognises a running host as its own.
//!
//! It depends on the values that hold, not on the place they come from, the directory of the caller, or any secret. A
//! model that was chosen because a credential for it was found does not count: it follows the caller's credentials. The
//! token itself has a mark of its own in the record.

use holon_config::{Access, HostOptions, Settings, Source, TokenOption};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Bytes of the digest that are kept: enough that two configurations never collide by accident.
const KEPT_BYTES: usize = 16;
/// Key whose derived value does not count.
const MODEL_KEY: &str = "model.default";

/// Returns the fingerprint of the settings and options of a start, as hex digits.
#[must_use]
pub fn fingerprint(settings: &Settings, options: &HostOptions, access: &Access) -> String {
    let token = match &options.token {
        TokenOption::Generated => "generated".to_owned(),
        TokenOption::File(path) => format!("file {}", path.display()),
        TokenOption::Given => "given".to_owned(),
    };
    let derived = Source::Credentials.as_str();
    let mut lines: Vec<String> = settings
        .effective()
        .into_iter()
        .map(|setting| {
            let is_derived = setting.key == MODEL_KEY && setting.source == derived;
            let value = setting.value.filter(|_| !is_derived);
            format!("{}={value:?}", setting.key)
        })
        .collect();
    lines.sort();
    lines.push(format!("access={}", access.mode));
    lines.push(format!("advertise={:?}", access.advertise_url));
    lines.push(format!("hosts={:?}", access.allowed_hosts));
    lines.push(format!("token={token}"));
    let digest = Sha256::digest(lines.join("\n"));
    let mut hex = String::with_capacity(2 * KEPT_BYTES);
    for byte in digest.iter().take(KEPT_BYTES) {
        // Writing to a string cannot fail.
        write!(hex, "{byte:02x}").ok();
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_config::{Env, FileSettings, Flags, resolve};
    use std::ffi::OsString;
    use std::path::Path;

    fn of(
        file: &str,
        variables: &'static [(&str, &str)],
        dir: &str,
        flags: &HostOptions,
    ) -> String {
        let lookup = move |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let env = Env::from_lookup(lookup, Some(dir.into()));
        let file = FileSettings::parse(file, Path::new("/h/config.toml")).unwrap();
        let given = Flags {
            home: Some("/h".into()),
            listen: flags.listen_flag(),
            model: flags.model.clone(),
            ..Flags::default()
        };
        let settings = resolve(&env, &given, Some(&file)).unwrap();
        let settings = settings.with_derived_model(&env, crate::wall_clock());
        let (settings, access) = settings.with_access(flags).unwrap();
        fingerprint(&settings, flags, &access)
    }

    #[test]
    fn neither_the_directory_nor_a_secret_nor_the_place_of_a_value_counts() {
        let plain = HostOptions::default();
        let first = of("", &[], "/a", &plain);
        assert_eq!(first, of("", &[], "/b", &plain));
        assert_eq!(first, of("", &[("OPENAI_API_KEY", "sk-1")], "/a", &plain));
        assert_eq!(first, of("", &[("OPENAI_API_KEY", "sk-2")], "/a", &plain));
        let file = "[model]\ndefault = \"openai/x\"\n";
        let variable = of("", &[("HOLON_MODEL", "openai/x")], "/a", &plain);
        assert_eq!(of(file, &[], "/a", &plain), variable);
        let token = |path: &str| HostOptions {
            token: TokenOption::File(path.into()),
            ..HostOptions::default()
        };
        assert_eq!(
            of("", &[], "/a", &token("/t")),
            of("", &[], "/b", &token("/t"))
        );
    }

    #[test]
    fn every_part_of_the_effective_configuration_counts() {
        let plain = HostOptions::default();
        let changed = |change: fn(&mut HostOptions)| {
            let mut options = HostOptions::default();
            change(&mut options);
            of("", &[], "/a", &options)
        };
        let all = [
            of("", &[], "/a", &plain),
            of("[model]\ndefault = \"openai/x\"\n", &[], "/a", &plain),
            of("[serve]\nhttp_addr = \"127.0.0.1:1\"\n", &[], "/a", &plain),
            changed(|options| options.port = Some(0)),
            changed(|options| options.advertise = Some("https://box.example".into())),
            changed(|options| options.host = Some("box.example".into())),
            changed(|options| options.token = TokenOption::Given),
            changed(|options| options.token = TokenOption::File("/t".into())),
        ];
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "{all:?}");
    }
}
