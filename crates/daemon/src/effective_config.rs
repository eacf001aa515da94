//! The effective configuration of a host. By its fingerprint a start recognises a running host as its own, and by the
//! marks of its parts it names those that differ.
//!
//! Both depend on the values that hold, not on the place they come from, the directory of the caller, or any secret. A
//! model that was chosen because a credential for it was found does not count: it follows the caller's credentials. Nor does
//! a time zone that is not set: it follows the caller's clock. The token itself has a mark of its own in the record.

use holon_config::{Access, HostOptions, KEYS, Settings, Source, TokenOption};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Bytes of the fingerprint: enough that two configurations never collide by accident.
const FINGERPRINT_BYTES: usize = 16;
/// Bytes of a mark, which is only compared with that of the same part.
const MARK_BYTES: usize = 4;
/// Key whose derived value does not count.
const MODEL_KEY: &str = "model.default";
/// Keys whose values follow the clock of the caller unless they are set.
const ZONE_KEYS: [&str; 2] = ["budgets.time_zone", "operator.time_zone"];
/// Key whose value the options of a start can replace.
const ADDRESS_KEY: &str = "serve.http_addr";

/// The effective configuration of a host: the values of its settings and the options of its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveConfig {
    /// The values that hold, one on a line.
    lines: Vec<String>,
    /// Values of the parts by the names that operators know them by. The settings of all providers, models and the like
    /// are one part each, so that the number of parts is bounded.
    parts: BTreeMap<String, String>,
}

/// Short hashes of the parts of a configuration, by their names. Empty for a host of an earlier build.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConfigMarks(BTreeMap<String, String>);

impl EffectiveConfig {
    /// Returns the configuration of the settings and options of a start.
    #[must_use]
    pub fn of(settings: &Settings, options: &HostOptions, access: &Access) -> Self {
        let token = match &options.token {
            TokenOption::Generated => "generated".to_owned(),
            TokenOption::File(path) => format!("file {}", path.display()),
            TokenOption::Given => "given".to_owned(),
        };
        let (derived, builtin) = (Source::Credentials.as_str(), Source::Builtin.as_str());
        let (mut lines, mut parts) = (Vec::new(), BTreeMap::<String, String>::new());
        for setting in settings.effective() {
            let is_derived = (setting.key == MODEL_KEY && setting.source == derived)
                || (ZONE_KEYS.contains(&setting.key.as_str()) && setting.source == builtin);
            let value = setting.value.filter(|_| !is_derived);
            let line = format!("{}={value:?}", setting.key);
            let part = parts.entry(part_of(&setting.key)).or_default();
            part.push_str(&line);
            part.push('\n');
            lines.push(line);
        }
        lines.sort();
        lines.push(format!("access={}", access.mode));
        lines.push(format!("advertise={:?}", access.advertise_url));
        lines.push(format!("hosts={:?}", access.allowed_hosts));
        lines.push(format!("token={token}"));
        // What access leads to follows from these and from the address.
        let options = [
            ("--access", options.access.to_string()),
            ("--advertise", format!("{:?}", options.advertise)),
            ("--host", format!("{:?}", options.host)),
            ("--token-file or --token", token),
        ];
        parts.extend(options.map(|(name, value)| (name.to_owned(), value)));
        Self { lines, parts }
    }

    /// Returns the fingerprint, as hex digits.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        digest(&self.lines.join("\n"), FINGERPRINT_BYTES)
    }

    /// Returns the marks of the parts.
    #[must_use]
    pub fn marks(&self) -> ConfigMarks {
        let marks = self.parts.iter();
        let marks = marks.map(|(name, value)| (name.clone(), digest(value, MARK_BYTES)));
        ConfigMarks(marks.collect())
    }
}

/// Returns the part that a setting belongs to: itself, or its family for a setting of one provider, model or the like.
fn part_of(key: &str) -> String {
    if key == ADDRESS_KEY {
        return format!("{ADDRESS_KEY} (--listen, --port)");
    }
    let is_single = KEYS.iter().any(|known| known.name == key);
    let family = KEYS.iter().filter_map(|known| known.name.split_once('<'));
    let mut family = family.filter(|(prefix, _)| !is_single && key.starts_with(prefix));
    let family = family
        .next()
        .map(|(prefix, _)| prefix.trim_end_matches('.'));
    family.unwrap_or(key).to_owned()
}

impl ConfigMarks {
    /// Returns true if there are none, as in the record of a host of an earlier build.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of the parts that differ. None if either has no marks.
    #[must_use]
    pub fn differing<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        if self.is_empty() || other.is_empty() {
            return Vec::new();
        }
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let names = names.into_iter();
        let differing = names.filter(|name| self.0.get(*name) != other.0.get(*name));
        differing.map(String::as_str).collect()
    }
}

/// Returns this number of bytes of the hash of a text, as hex digits.
fn digest(text: &str, bytes: usize) -> String {
    let digest = Sha256::digest(text);
    let mut hex = String::with_capacity(2 * bytes);
    for byte in digest.iter().take(bytes) {
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
    ) -> EffectiveConfig {
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
        EffectiveConfig::of(&settings, flags, &access)
    }

    #[test]
    fn neither_the_directory_nor_a_secret_nor_the_place_of_a_value_counts() {
        let plain = HostOptions::default();
        let first = of("", &[], "/a", &plain);
        assert_eq!(first, of("", &[], "/b", &plain));
        assert_eq!(first, of("", &[("OPENAI_API_KEY", "sk-1")], "/a", &plain));
        assert_eq!(first, of("", &[("OPENAI_API_KEY", "sk-2")], "/a", &plain));
        assert_eq!(first, of("", &[("TZ", "Asia/Tokyo")], "/a", &plain));
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
            of(
                "[operator]\ntime_zone = \"Asia/Tokyo\"\n",
                &[],
                "/a",
                &plain,
            ),
            of("[serve]\nhttp_addr = \"127.0.0.1:1\"\n", &[], "/a", &plain),
            changed(|options| options.port = Some(0)),
            changed(|options| options.advertise = Some("https://box.example".into())),
            changed(|options| options.host = Some("box.example".into())),
            changed(|options| options.token = TokenOption::Given),
            changed(|options| options.token = TokenOption::File("/t".into())),
        ];
        let different: BTreeSet<String> = all.iter().map(EffectiveConfig::fingerprint).collect();
        assert_eq!(different.len(), all.len(), "{all:?}");
    }

    #[test]
    fn parts_that_differ_are_named() {
        let plain = of("", &[], "/a", &HostOptions::default()).marks();
        let options = HostOptions {
            advertise: Some("https://box.example".into()),
            ..HostOptions::default()
        };
        let file = "[model]\ndefault = \"openai/x\"\n";
        let other = of(file, &[], "/a", &options).marks();
        assert_eq!(plain.differing(&plain), Vec::<&str>::new());
        assert_eq!(plain.differing(&ConfigMarks::default()), Vec::<&str>::new());
        let named = plain.differing(&other);
        assert_eq!(named, ["--advertise", "model.default"]);
        assert_eq!(named, other.differing(&plain));
    }

    #[test]
    fn the_number_of_parts_is_bounded() {
        let mut file = String::new();
        for number in 0..1_000 {
            file += &format!("[models.catalog.\"own/m{number}\"]\ncontext_window_tokens = 9000\n");
        }
        let plain = of("", &[], "/a", &HostOptions::default()).marks();
        let many = of(&file, &[], "/a", &HostOptions::default()).marks();
        assert_eq!(plain.differing(&many), ["models.catalog"]);
        assert!(serde_json::to_string(&many).unwrap().len() < 8 << 10);
    }

    #[test]
    fn the_address_is_named_with_its_options() {
        let on = |port| HostOptions {
            port: Some(port),
            ..HostOptions::default()
        };
        let (first, second) = (of("", &[], "/a", &on(1)), of("", &[], "/a", &on(2)));
        assert_eq!(
            first.marks().differing(&second.marks()),
            ["serve.http_addr (--listen, --port)"]
        );
    }
}
