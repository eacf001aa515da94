//! `holon config get`, `set`, `unset`, `list` and `schema`.

use super::tell;
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
        let value = value.map_or(serde_json::Value::Null, |text| typed(&key, text));
        Self { key, value, source }
    }
}

/// A value as JSON has it, by the kind its key takes.
fn typed(key: &str, text: String) -> serde_json::Value {
    match kind_of(key) {
        Some(Kind::Number { .. } | Kind::Flag | Kind::List) => {
            serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text))
        }
        Some(Kind::Text | Kind::Choice(_)) | None => serde_json::Value::String(text),
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

/// What counts, and who set it.
pub(super) fn get(home: Option<PathBuf>, key: &str, output: &Output) -> Result<Exit, Failure> {
    let settings = settings::of(home)?;
    // Asked for its judgement of the name; what counts may come from elsewhere than the file.
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
struct Set {
    key: String,
    value: serde_json::Value,
}

/// Writes one setting.
pub(super) async fn set(
    home: Option<PathBuf>,
    key: &str,
    value: &str,
    output: &Output,
) -> Result<Exit, Failure> {
    let home = settings::home(home)?;
    edit::set(&home, key, value)?;
    let stored = edit::get(&home, key)?;
    let set = stored.into_iter().next().map_or_else(
        || Set {
            key: key.to_owned(),
            value: serde_json::Value::Null,
        },
        |(path, value)| Set {
            key: path.to_string(),
            value: json(&value),
        },
    );
    let words = |set: &Set| format!("{} = {}", set.key, render::config::value(&set.value));
    let remarks = missing(&home, &set);
    let exit = tell(&home, set, words, output).await;
    if output.format() == Format::Text {
        remarks.iter().for_each(|remark| output.note(remark));
    }
    Ok(exit)
}

/// What the models that were set lack before they can be asked.
fn missing(home: &Path, set: &Set) -> Vec<String> {
    let named: Vec<&str> = match (set.key.as_str(), &set.value) {
        ("model.default", serde_json::Value::String(model)) => vec![model],
        ("model.fallbacks", serde_json::Value::Array(models)) => {
            models.iter().filter_map(|model| model.as_str()).collect()
        }
        (_, _) => return Vec::new(),
    };
    let Ok(settings) = settings::of(Some(home.to_owned())) else {
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
struct Unset {
    key: String,
    status: &'static str,
}

/// Removes one setting.
pub(super) async fn unset(
    home: Option<PathBuf>,
    key: &str,
    output: &Output,
) -> Result<Exit, Failure> {
    let home = settings::home(home)?;
    let status = if edit::unset(&home, key)? {
        "unset"
    } else {
        "not_set"
    };
    let unset = Unset {
        key: key.to_owned(),
        status,
    };
    let words = |unset: &Unset| match unset.status {
        "unset" => format!("{} is unset", unset.key),
        _ => format!("{} was not set", unset.key),
    };
    Ok(tell(&home, unset, words, output).await)
}

/// What the file says.
pub(super) fn list(home: Option<PathBuf>, output: &Output) -> Result<Exit, Failure> {
    let stored: BTreeMap<String, serde_json::Value> = edit::list(&settings::home(home)?)?
        .iter()
        .map(|(path, value)| (path.to_string(), json(value)))
        .collect();
    output.answer(&stored, render::config::stored);
    Ok(Exit::Done)
}

/// What counts.
pub(super) fn list_effective(home: Option<PathBuf>, output: &Output) -> Result<Exit, Failure> {
    let settings = settings::of(home)?;
    let all: Vec<Setting> = settings
        .effective()
        .into_iter()
        .map(Setting::from)
        .collect();
    output.answer(&all, |all| render::config::effective(all));
    Ok(Exit::Done)
}

/// What can be set.
pub(super) fn schema(output: &Output) -> Exit {
    output.answer(&holon_config::schema(), |schema| {
        render::config::schema(schema)
    });
    Exit::Done
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::Number(number) => (*number).into(),
        Value::Flag(flag) => (*flag).into(),
        Value::List(items) => items.clone().into(),
    }
}
