//! Builds a host from the settings, with every port bound to its adapter.

use crate::error::Error;
use crate::host_facts::host_facts;
use crate::port::{
    Archives, AttachedFiles, Attachments, Files, GuidanceFiles, Homes, MemoryFolder, Models,
    OsEntropy, Outbound, Plans, ReloadableAdapters, SystemClock, Workspaces,
};
use crate::setup;
use holon_config::{Settings, Source, Sourced, Token};
use holon_domain::budget::BudgetDefaults;
use holon_domain::tool::ToolOutputBudget;
use holon_domain::trigger::CapabilityKey;
use holon_domain::workspace::ReservedDirs;
use holon_engine::model_request::ReminderTerms;
use holon_engine::ports::{ModelClient as _, Ports};
use holon_engine::{Conduct, HistoryTerms, Host, HostConfig, Rejection, Scope, ThreadTerms};
use holon_store::{Db, Home};
use holon_workspace::{
    ClaimFolders, Fetcher, Git, GitHost, ManagedWorktrees, TemplateStore, WorkspaceSelection,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Addresses at which a host is reached.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// Base of the URLs of triggers, without a slash at its end.
    pub(crate) callback_base: String,
    /// Address that the operator advertises, if one is set.
    pub(crate) advertised: Option<String>,
}

/// Builds the host of an opened home. The host is not up yet.
///
/// # Errors
/// Fails if the store cannot be read.
pub(crate) fn open(
    settings: &Settings,
    live: &ReloadableAdapters,
    home: &Home,
    db: Db,
    scope: Scope,
    addresses: Addresses,
) -> Result<Host, Error> {
    let config = HostConfig {
        db_path: home.db_path(),
        agents_dir: home.agents_dir().to_string_lossy().into_owned(),
        default_agent: settings.default_agent.value.clone(),
        models: setup::chain(settings),
        conduct: Conduct {
            event_budget_bytes: settings.event_budget_bytes.value,
            history: HistoryTerms {
                budget_bytes: settings.store_budget_bytes.value,
                days: settings.history_days.value,
            },
            tool_output: ToolOutputBudget {
                default_tokens: settings.default_tool_output_tokens.value,
                max_tokens: settings.max_tool_output_tokens.value,
            },
            provider_patience_ms: u64::try_from(settings.provider_patience.value.as_millis())
                .unwrap_or(u64::MAX),
            thread: ThreadTerms {
                most_tokens: Some(settings.context.thread_tokens.value),
                cold_after_ms: cold_after_ms(settings),
                cold_tokens: usize::try_from(settings.context.cold_tokens.value)
                    .unwrap_or(usize::MAX),
                ..ThreadTerms::DEFAULT
            },
            reminder: ReminderTerms {
                rounds: settings.stale_reminder.rounds.value,
                cooldown_rounds: settings.stale_reminder.cooldown_rounds.value,
                max_tokens: settings.stale_reminder.max_tokens.value,
            },
            scope,
            reserved: reserved(home),
            capability_key: capability_key(home),
            callback_base: addresses.callback_base,
            spawn_depth: settings.delegation_depth.value,
            zone: settings.budgets.time_zone.value.clone(),
            operator_zone: settings.operator_time_zone.value.clone(),
            budget_defaults: BudgetDefaults {
                agent_day_tokens: value_of(&settings.budgets.agent_day_tokens),
                host_day_tokens: value_of(&settings.budgets.host_day_tokens),
            },
        },
    };
    Ok(Host::open(
        config,
        ports(settings, live, home, addresses.advertised),
        db,
    )?)
}

fn value_of(setting: &Option<Sourced<u64>>) -> Option<u64> {
    setting.as_ref().map(|set| set.value)
}

/// Loads or creates the key from which the tokens of capability URLs are derived. Without one the host runs, and no
/// delivery is accepted until the next start.
fn capability_key(home: &Home) -> CapabilityKey {
    match Token::load_or_create(&capability_key_path(home.root())) {
        Ok(token) => CapabilityKey::new(token.expose()),
        Err(error) => {
            tracing::error!(%error, "the key of capability URLs cannot be used, so none of them works");
            CapabilityKey::default()
        }
    }
}

/// Checks the default model before anything is opened. A model from a flag must be usable. A model from the
/// environment or a file only gets a warning, because agents with their own model must start anyway.
pub(crate) async fn check_default_model(settings: &Settings, models: &Models) -> Result<(), Error> {
    let Some(model) = &settings.model else {
        return Ok(());
    };
    match (models.check(&model.value).await, model.source) {
        (Ok(()), _) => Ok(()),
        (Err(failure), Source::Flag) => {
            let rejection = Rejection::ModelUnavailable {
                reason: failure.message,
            };
            Err(holon_engine::Error::from(rejection).into())
        }
        (
            Err(failure),
            Source::Environment | Source::File | Source::Credentials | Source::Builtin,
        ) => {
            tracing::warn!(model = %model.value, %failure, "the default model cannot be asked");
            Ok(())
        }
    }
}

/// Returns the file of the key of capability URLs, among the state of a home.
pub(crate) fn capability_key_path(home: &Path) -> PathBuf {
    home.join("state").join("capability.key")
}

/// Directory of the execution roots that the runtime makes, in the host's home.
const EXECUTION_ROOTS: &str = "execution-roots";

/// Directories that no workspace may contain: the state that proves which commands ran, the token and the socket, and
/// the worktrees of all agents.
fn reserved(home: &Home) -> ReservedDirs {
    let canonical = |dir: PathBuf| dir.canonicalize().unwrap_or(dir);
    ReservedDirs::new([home.state_path(), home.run_dir()].map(canonical).to_vec())
        .with_execution_roots(canonical(home.root().to_owned()).join(EXECUTION_ROOTS))
}

/// Fetches templates and skills, with folders beside the other files of the running program.
pub(crate) fn fetcher(settings: &Settings) -> Fetcher {
    let host = GitHost::new(&settings.github_base_url.value);
    let folders = settings.home.value.join("run").join("fetch");
    let git = Git::default().with_proxies(settings.proxies.clone());
    Fetcher::new(git, host, folders)
}

fn selection(home: &Home) -> WorkspaceSelection {
    let worktrees = home.root().join(EXECUTION_ROOTS).join("git-worktree");
    WorkspaceSelection {
        worktrees: ManagedWorktrees::new(worktrees, Git::default()),
        reserved: reserved(home),
        agents_dir: home.agents_dir(),
    }
}

fn ports(
    settings: &Settings,
    live: &ReloadableAdapters,
    home: &Home,
    advertised: Option<String>,
) -> Ports {
    let ReloadableAdapters {
        models,
        commands,
        web,
    } = live.clone();
    for (variable, scheme) in holon_web::skipped_proxies(&settings.proxies) {
        tracing::warn!(
            variable,
            scheme,
            "the proxy is skipped, because only http and https proxies are used; name one of these"
        );
    }
    let claims = ClaimFolders::of_host(home.root());
    let attachments = Attachments::new(claims.clone());
    let fetcher = fetcher(settings);
    let templates = TemplateStore::of_user(settings.user_home.as_deref(), fetcher.clone());
    let skill_roots = holon_workspace::user_skill_roots(settings.user_home.as_deref());
    let archives = Archives::new(home.agents_dir(), Arc::clone(&models), skill_roots);
    Ports {
        model: models,
        command: commands,
        file: Arc::new(Files::new(
            claims.clone(),
            attachments.clone(),
            &home.state_path(),
        )),
        plan: Arc::new(Plans),
        guidance: Arc::new(GuidanceFiles::new(settings.user_home.as_deref(), fetcher)),
        home: Arc::new(Homes::new(
            home.agents_dir(),
            claims,
            attachments.clone(),
            templates,
            reserved(home),
            archives,
        )),
        workspace: Arc::new(Workspaces::new(
            selection(home),
            attachments,
            host_facts(settings),
        )),
        outbound: Arc::new(Outbound::new(
            home.root().to_owned(),
            settings.proxies.clone(),
            AttachedFiles::new(home.agents_dir(), advertised),
        )),
        memory: Arc::new(MemoryFolder),
        web,
        clock: Arc::new(SystemClock::new()),
        entropy: Arc::new(OsEntropy),
    }
}

/// Returns the time after which a thread is cold; `None` if the settings name none, so that the provider's cache life counts.
fn cold_after_ms(settings: &Settings) -> Option<u64> {
    let after = &settings.context.cold_after;
    let set = (after.source != Source::Builtin).then_some(after.value)?;
    Some(u64::try_from(set.as_millis()).unwrap_or(u64::MAX))
}
