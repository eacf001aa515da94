//! The settings that a running host follows: those of its last reload, with the values of its start for the keys that
//! need a restart. The fingerprint in the host record follows them, so that a start compares with what is in force.

use crate::daemon_record::{DaemonRecord, OwnRecord};
use crate::effective_config::EffectiveConfig;
use crate::serve::HostStart;
use holon_config::{Access, HostOptions, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

/// Settings that need a restart. [`keep_start`] keeps each of them.
const NEEDS_RESTART: [&str; 19] = [
    "agent.default_id",
    "budgets.agent_day_tokens",
    "budgets.host_day_tokens",
    "budgets.time_zone",
    "context.cold_after_secs",
    "context.cold_tokens",
    "context.thread_tokens",
    "delegation.max_depth",
    "github.base_url",
    "operator.time_zone",
    "serve.http_addr",
    "retention.event_budget_bytes",
    "retention.history_days",
    "retention.store_budget_bytes",
    "runtime.default_tool_output_tokens",
    "runtime.max_tool_output_tokens",
    "runtime.work_item_stale_reminder_rounds",
    "runtime.work_item_stale_reminder_cooldown_rounds",
    "runtime.work_item_stale_reminder_max_tokens",
];

/// The settings in force, and the record that names them to other processes.
#[derive(Debug)]
pub(crate) struct SettingsInForce {
    start: Settings,
    now: RwLock<Arc<Settings>>,
    options: HostOptions,
    access: Access,
    record: Arc<OwnRecord>,
}

/// Settings that were read again, as they would be in force.
#[derive(Debug)]
pub(crate) struct Reread {
    pub(crate) settings: Settings,
    /// Keys whose value changes at once.
    pub(crate) changed: Vec<String>,
    /// Keys whose value in the file is not the one that the host was started with.
    pub(crate) restart_needed: Vec<String>,
}

impl SettingsInForce {
    /// Takes the settings of a start.
    pub(crate) fn new(settings: Settings, start: &HostStart, record: Arc<OwnRecord>) -> Self {
        Self {
            now: RwLock::new(Arc::new(settings.clone())),
            start: settings,
            options: start.options.clone(),
            access: start.access.clone(),
            record,
        }
    }

    /// Returns the settings in force.
    pub(crate) fn now(&self) -> Arc<Settings> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the record of the host.
    pub(crate) fn record(&self) -> DaemonRecord {
        self.record.now()
    }

    /// Judges settings that were read again. Nothing is changed.
    pub(crate) fn judge(&self, read: Settings) -> Reread {
        let needs_restart = |key: &String| NEEDS_RESTART.contains(&key.as_str());
        let mut restart_needed = changed_keys(&self.start, &read);
        restart_needed.retain(needs_restart);
        let settings = keep_start(&self.start, read);
        Reread {
            changed: changed_keys(&self.now(), &settings),
            settings,
            restart_needed,
        }
    }

    /// Puts judged settings in force and writes their fingerprint to the record. A record that cannot be written is only
    /// logged: the next start finds a difference then.
    pub(crate) fn take_over(&self, settings: Settings) {
        let config = EffectiveConfig::of(&settings, &self.options, &self.access);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        if let Err(error) = self.record.set_config(&config) {
            tracing::warn!(%error, "run/daemon.json names the settings of before");
        }
    }
}

/// Returns the settings with the values of the start for the keys that need a restart.
fn keep_start(start: &Settings, read: Settings) -> Settings {
    let mut kept = read;
    kept.default_agent.clone_from(&start.default_agent);
    kept.budgets.clone_from(&start.budgets);
    kept.operator_time_zone
        .clone_from(&start.operator_time_zone);
    kept.delegation_depth.clone_from(&start.delegation_depth);
    kept.github_base_url.clone_from(&start.github_base_url);
    kept.http_addr.clone_from(&start.http_addr);
    kept.event_budget_bytes
        .clone_from(&start.event_budget_bytes);
    kept.store_budget_bytes
        .clone_from(&start.store_budget_bytes);
    kept.history_days.clone_from(&start.history_days);
    kept.default_tool_output_tokens
        .clone_from(&start.default_tool_output_tokens);
    kept.max_tool_output_tokens
        .clone_from(&start.max_tool_output_tokens);
    kept.stale_reminder.clone_from(&start.stale_reminder);
    kept.context.clone_from(&start.context);
    kept
}

/// Returns the keys whose values differ.
fn changed_keys(before: &Settings, now: &Settings) -> Vec<String> {
    let values = |settings: &Settings| -> BTreeMap<String, Option<String>> {
        let all = settings.effective().into_iter();
        all.map(|setting| (setting.key, setting.value)).collect()
    };
    let (before, now) = (values(before), values(now));
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let changed = keys.into_iter();
    let changed = changed.filter(|key| before.get(*key) != now.get(*key));
    changed.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_config::{Env, FileSettings, Flags, ServiceEnv, resolve};
    use holon_domain::Timestamp;
    use std::path::Path;
    use tempfile::TempDir;

    const FIRST: &str = "[model]\ndefault = \"a/1\"\n";
    const SECOND: &str = "[model]\ndefault = \"b/1\"\n";

    fn settings(text: &str) -> Settings {
        let file = FileSettings::parse(text, Path::new("/h/config.toml")).unwrap();
        let flags = Flags {
            home: Some("/h".into()),
            ..Flags::default()
        };
        resolve(&Env::default(), &flags, Some(&file)).unwrap()
    }

    /// A host that was started with these settings, and the directory of its record.
    fn started(text: &str) -> (SettingsInForce, TempDir) {
        let (dir, options) = (TempDir::new().unwrap(), HostOptions::default());
        let (settings, access) = settings(text).with_access(&options).unwrap();
        let record = serde_json::json!({
            "pid": 7, "home_dir": "/h", "socket_path": "/h/run/holon.sock", "http_addr": "127.0.0.1:1",
            "started_at": "2026-01-01T00:00:00Z",
            "config_fingerprint": EffectiveConfig::of(&settings, &options, &access).fingerprint(),
        });
        let record: DaemonRecord = serde_json::from_value(record).unwrap();
        let record = Arc::new(OwnRecord::new(dir.path().to_owned(), record));
        record.announce(Timestamp::default()).unwrap();
        let start = HostStart {
            options,
            access,
            token: None,
            service: ServiceEnv::default(),
            log_path: None,
        };
        (SettingsInForce::new(settings, &start, record), dir)
    }

    fn reload(host: &SettingsInForce, text: &str) -> (Vec<String>, Vec<String>) {
        let reread = host.judge(settings(text));
        host.take_over(reread.settings);
        (reread.changed, reread.restart_needed)
    }

    /// Returns true if a start with this file would take the running host for its own.
    fn is_own(dir: &TempDir, text: &str) -> bool {
        let options = HostOptions::default();
        let (settings, access) = settings(text).with_access(&options).unwrap();
        let wanted = EffectiveConfig::of(&settings, &options, &access).fingerprint();
        let record = DaemonRecord::load(dir.path()).unwrap();
        record.config_fingerprint.as_deref() == Some(&*wanted)
    }

    #[test]
    fn a_start_compares_with_the_settings_of_the_last_reload() {
        let (host, dir) = started(FIRST);
        assert!(is_own(&dir, FIRST) && !is_own(&dir, SECOND));
        let (changed, _) = reload(&host, SECOND);
        assert_eq!(changed, ["model.default"]);
        assert!(is_own(&dir, SECOND), "it was taken over");
        assert!(
            !is_own(&dir, FIRST),
            "the host does not follow that any more"
        );
        let shown = host.record().config_fingerprint;
        let written = DaemonRecord::load(dir.path()).unwrap();
        assert_eq!(shown, written.config_fingerprint);
        let late = format!("{SECOND}[delegation]\nmax_depth = 2\n");
        reload(&host, &late);
        assert!(
            is_own(&dir, SECOND),
            "the depth counts from the next start on"
        );
        assert!(!is_own(&dir, &late));
    }

    #[test]
    fn a_value_that_needs_a_restart_is_neither_shown_nor_forgotten_before_it() {
        let (host, _dir) = started("");
        let all = "[agent]\ndefault_id = \"x\"\n\
             [budgets]\nagent_day_tokens = 7000\nhost_day_tokens = 9000\ntime_zone = \"Europe/Berlin\"\n\
             [context]\nthread_tokens = 9000\ncold_after_secs = 7\ncold_tokens = 800\n\
             [delegation]\nmax_depth = 2\n[github]\nbase_url = \"https://git.example\"\n\
             [operator]\ntime_zone = \"Asia/Tokyo\"\n\
             [serve]\nhttp_addr = \"127.0.0.1:1\"\n[retention]\nevent_budget_bytes = 2000000\n\
             history_days = 9\nstore_budget_bytes = 200000000\n\
             [runtime]\ndefault_tool_output_tokens = 900\nmax_tool_output_tokens = 1000\n\
             work_item_stale_reminder_rounds = 3\nwork_item_stale_reminder_cooldown_rounds = 4\n\
             work_item_stale_reminder_max_tokens = 300\n";
        let mut every = NEEDS_RESTART.map(str::to_owned).to_vec();
        every.sort();
        let start = host.now();
        for _ in 0..2 {
            assert_eq!(reload(&host, all), (Vec::new(), every.clone()));
            assert_eq!(host.now(), start);
        }
        assert_eq!(reload(&host, ""), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_change_counts_at_once_or_from_the_next_start_on() {
        let (host, _dir) = started(FIRST);
        let later = "[model]\ndefault = \"b/1\"\n[serve]\nhttp_addr = \"127.0.0.1:1\"\n\
             [providers.work]\ntransport = \"openai_responses\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";
        let (changed, restart_needed) = reload(&host, later);
        assert_eq!(
            changed,
            [
                "model.default",
                "providers.work.base_url",
                "providers.work.transport"
            ]
        );
        assert_eq!(restart_needed, ["serve.http_addr"]);
        let again = reload(&host, later);
        assert_eq!(again, (Vec::new(), vec!["serve.http_addr".to_owned()]));
    }
}
