//! `holon config get`, `set`, `unset`, `list` and `schema`.

use super::report_change;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};
use crate::report::Setting;
use crate::{render, settings};
use holon_config::{Effective, Env, KEYS, KeyPath, Kind, ModelAvailability, Value, edit};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

impl From<Effective> for Setting {
    fn from(effective: Effective) -> Self {
        let Effective { key, value, source } = effective;
        let value = value.map_or(serde_json::Value::Null, |text| typed_value(&key, text));
        Self { key, value, source }
    }
}

/// Converts a value to JSON by the type of its key.
fn typed_value(key: &str, text: String) -> serde_json::Value {
    match kind_of(key) {
        Some(Kind::Number { .. } | Kind::Flag | Kind::List) => {
            serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text))
        }
        Some(Kind::Text | Kind::Choice(_) | Kind::OpenChoice(_)) | None => {
            serde_json::Value::String(text)
        }
    }
}

fn kind_of(key: &str) -> Option<Kind> {
    let path = KeyPath::parse(key).ok()?;
    let fits = |name: &str| {
        let known: Vec<&str> = name.split('.').collect();
        known.len() == path.segments().len()
            && known
                .iter()
                .zip(path.segments())
                .all(|(known, given)| known.starts_with('<') || known == given)
    };
    KEYS.iter().find(|key| fits(key.name)).map(|key| key.kind)
}

/// Prints the effective value of one setting and its source.
pub(super) fn get(home: Option<PathBuf>, key: &str, output: &Output) -> Result<Exit, Failure> {
    let settings = settings::load_home(home)?;
    // Checks the key only; the effective value may come from another source than the file.
    edit::get(&settings.home.value, key)?;
    let wanted = KeyPath::parse(key).map_err(Failure::usage)?;
    let inside = |setting: &Effective| {
        KeyPath::parse(&setting.key)
            .is_ok_and(|path| path.segments().starts_with(wanted.segments()))
    };
    let mut found: Vec<Setting> = settings
        .effective()
        .into_iter()
        .filter(|setting| inside(setting) && setting.value.is_some())
        .map(Setting::from)
        .collect();
    let exact = found.len() == 1
        && found
            .iter()
            .all(|setting| setting.key == wanted.to_string());
    match found.pop() {
        None => Err(
            Failure::new(Exit::Failed, "not_set", format!("{wanted} is not set")).hint(format!(
                "set it with: holon config set {wanted} VALUE; see what it takes with: holon config schema"
            )),
        ),
        Some(only) if exact => {
            output.answer(&only, |only| render::config::value(&only.value));
            output.aside(&format!("set by: {}", only.source));
            Ok(Exit::Done)
        }
        Some(last) => {
            found.push(last);
            output.answer(&found, |found| render::config::effective(found));
            Ok(Exit::Done)
        }
    }
}

#[derive(Serialize)]
struct SettingChange {
    key: String,
    value: serde_json::Value,
}

/// Writes one setting into the file.
pub(super) async fn set(
    home: Option<PathBuf>,
    key: &str,
    value: &str,
    output: &Output,
) -> Result<Exit, Failure> {
    let home = settings::home_dir(home)?;
    edit::set(&home, key, value)?;
    let stored = edit::get(&home, key)?;
    let set = stored.into_iter().next().map_or_else(
        || SettingChange {
            key: key.to_owned(),
            value: serde_json::Value::Null,
        },
        |(path, value)| SettingChange {
            key: path.to_string(),
            value: json_value(&value),
        },
    );
    let words =
        |set: &SettingChange| format!("{} = {}", set.key, render::config::value(&set.value));
    let remarks = model_remarks(&home, &set);
    let exit = report_change(&home, set, words, output).await;
    if output.format() == Format::Text {
        remarks.iter().for_each(|remark| output.note(remark));
    }
    Ok(exit)
}

/// Returns a remark for each model in the new value that is not usable yet.
fn model_remarks(home: &Path, set: &SettingChange) -> Vec<String> {
    let named: Vec<&str> = match (set.key.as_str(), &set.value) {
        ("model.default", serde_json::Value::String(model)) => vec![model],
        ("model.fallbacks", serde_json::Value::Array(models)) => {
            models.iter().filter_map(|model| model.as_str()).collect()
        }
        (_, _) => return Vec::new(),
    };
    let Ok(settings) = settings::load_home(Some(home.to_owned())) else {
        return Vec::new();
    };
    let (env, now) = (Env::from_process(), holon_daemon::wall_clock());
    let remark = |model: ModelAvailability| {
        let reason = model.unavailable_reason?;
        let next = model.next_step.unwrap_or_default();
        Some(format!(
            "note: {} cannot be asked yet: {reason}; {next}",
            model.model
        ))
    };
    holon_config::model_availability(&settings, &env, now)
        .into_iter()
        .filter(|model| named.contains(&model.model.as_str()))
        .filter_map(remark)
        .collect()
}

#[derive(Serialize)]
struct SettingRemoval {
    key: String,
    status: &'static str,
}

/// Removes one setting from the file.
pub(super) async fn unset(
    home: Option<PathBuf>,
    key: &str,
    output: &Output,
) -> Result<Exit, Failure> {
    let home = settings::home_dir(home)?;
    let status = if edit::unset(&home, key)? {
        "unset"
    } else {
        "not_set"
    };
    let unset = SettingRemoval {
        key: key.to_owned(),
        status,
    };
    let words = |unset: &SettingRemoval| match unset.status {
        "unset" => format!("{} is unset", unset.key),
        _ => format!("{} was not set", unset.key),
    };
    Ok(report_change(&home, unset, words, output).await)
}

/// Prints the settings in the file.
pub(super) fn list(home: Option<PathBuf>, output: &Output) -> Result<Exit, Failure> {
    let stored: BTreeMap<String, serde_json::Value> = edit::list(&settings::home_dir(home)?)?
        .iter()
        .map(|(path, value)| (path.to_string(), json_value(value)))
        .collect();
    output.answer(&stored, render::config::stored);
    Ok(Exit::Done)
}

/// Prints all settings with their effective values.
pub(super) fn list_effective(home: Option<PathBuf>, output: &Output) -> Result<Exit, Failure> {
    let settings = settings::load_home(home)?;
    let all: Vec<Setting> = settings
        .effective()
        .into_iter()
        .map(Setting::from)
        .collect();
    output.answer(&all, |all| render::config::effective(all));
    Ok(Exit::Done)
}

/// Prints all known settings with type and default.
pub(super) fn schema(output: &Output) -> Exit {
    output.answer(&holon_config::schema(), |schema| {
        render::config::schema(schema)
    });
    Exit::Done
}

fn json_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::Number(number) => (*number).into(),
        Value::Flag(flag) => (*flag).into(),
        Value::List(items) => items.clone().into(),
    }
}
