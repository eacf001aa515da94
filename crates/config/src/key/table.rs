//! The table of keys, each once: name, kind, bounds, default and documentation.

use super::bounds::{
    BUDGET_TOKENS, COUNT, DAYS, DELEGATION_DEPTH, EFFORTS, EVENT_BYTES, KINDS, MILLISECONDS,
    PATIENCE_SECONDS, PERCENT, PROGRAMS, ROUNDS, SCREENS, SEARCH_KINDS, SEARCH_MODES, SECONDS,
    SOURCES, STORE_BYTES, THINKING_TOKENS, THREAD_TOKENS, TOKENS, TOOL_TOKENS, TRANSPORTS, WINDOW,
};
use super::{Key, Kind};

const fn key(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    let default = None;
    Key {
        name,
        kind,
        default,
        doc,
    }
}

const fn with_default(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
) -> Key {
    let default = Some(default);
    Key {
        name,
        kind,
        default,
        doc,
    }
}

/// Every key, in the order the documentation lists them.
pub const KEYS: &[Key] = &[
    key(
        "model.default",
        Kind::Text,
        "Model that agents ask unless they have their own, as `provider/model`. Without it, the first model of the first provider that has a credential.",
    ),
    with_default(
        "model.fallbacks",
        Kind::List,
        "[]",
        "Models to turn to, in this order, when the first one fails.",
    ),
    with_default(
        "model.unknown_fallback.context_window_tokens",
        WINDOW,
        "32000",
        "Window assumed for an unknown model.",
    ),
    with_default(
        "model.unknown_fallback.effective_context_window_percent",
        PERCENT,
        "90",
        "How much of that window a prompt may take.",
    ),
    with_default(
        "model.unknown_fallback.runtime_max_output_tokens",
        TOKENS,
        "16384",
        "Tokens such a model may write in one round, and at most a third of its window.",
    ),
    key(
        "models.catalog.<provider/model>.display_name",
        Kind::Text,
        "What people read for the model.",
    ),
    key(
        "models.catalog.<provider/model>.description",
        Kind::Text,
        "What the model is for.",
    ),
    key(
        "models.catalog.<provider/model>.context_window_tokens",
        WINDOW,
        "Tokens of request and answer together.",
    ),
    key(
        "models.catalog.<provider/model>.effective_context_window_percent",
        PERCENT,
        "How much of the window a prompt may take.",
    ),
    key(
        "models.catalog.<provider/model>.runtime_max_output_tokens",
        TOKENS,
        "Tokens the model may write in one round; wins over `runtime.max_output_tokens`.",
    ),
    key(
        "models.catalog.<provider/model>.max_output_tokens_upper_limit",
        TOKENS,
        "The most the provider lets it write.",
    ),
    key(
        "models.catalog.<provider/model>.freeform_tools",
        Kind::Flag,
        "Whether the model is offered tools as free text under a grammar where such a form exists (`openai_responses` and `openai_codex_responses` only). Known models have it on where they take it; set it to `false` for a server that refuses it.",
    ),
    key(
        "models.catalog.<provider/model>.image_input",
        Kind::Flag,
        "True if the model takes images, so that `ViewImage` shows it one. Known models have it on where they see.",
    ),
    key(
        "models.catalog.<provider/model>.reasoning",
        Kind::Flag,
        "True if the model reasons before it answers: its encrypted reasoning is asked for and returned between rounds, also when no effort is set (`openai_responses` and `openai_codex_responses` only). Known models have it on where they reason.",
    ),
    key(
        "models.catalog.<provider/model>.thinking_tokens",
        THINKING_TOKENS,
        "Switches thinking on and limits it to this many tokens for each answer, at least 1024 (`anthropic_messages` only). 1024 tokens of the model's output limit are kept for the answer; a number above the rest is cut to it. Off unless it is set.",
    ),
    key(
        "models.catalog.<provider/model>.price_input",
        Kind::Text,
        "US dollars for a million input tokens, such as `\"2.50\"`. With `price_output` it replaces the built-in price; without a price the cost of the model is unknown.",
    ),
    key(
        "models.catalog.<provider/model>.price_output",
        Kind::Text,
        "US dollars for a million output tokens.",
    ),
    key(
        "models.catalog.<provider/model>.price_cache_read",
        Kind::Text,
        "US dollars for a million input tokens that the provider reads from its cache. Default: `price_input`.",
    ),
    key(
        "models.catalog.<provider/model>.price_cache_write",
        Kind::Text,
        "US dollars for a million input tokens that the provider writes to its cache. Default: `price_input`.",
    ),
    with_default(
        "runtime.max_output_tokens",
        TOKENS,
        "8192",
        "Tokens a model may write in one round, as far as the model allows. Unless it is set, models known to think before they answer may write 32000, because their thoughts count.",
    ),
    with_default(
        "runtime.disable_provider_fallback",
        Kind::Flag,
        "false",
        "Whether only the chosen model is ever asked.",
    ),
    with_default(
        "runtime.provider_http_timeout_secs",
        SECONDS,
        "300",
        "Seconds a provider may take until its answer begins. Where answers come in one piece, that is how long a model may think.",
    ),
    with_default(
        "runtime.provider_patience_secs",
        PATIENCE_SECONDS,
        "86400",
        "Seconds for which a turn outside `holon run` stays suspended and asks again by itself while its providers have trouble. Only pauses that ran to their end count. Then it waits for an operator.",
    ),
    with_default(
        "runtime.provider_stream_idle_timeout_ms",
        MILLISECONDS,
        "300000",
        "Milliseconds an answer that has begun may be silent.",
    ),
    with_default(
        "runtime.default_tool_output_tokens",
        TOOL_TOKENS,
        "8000",
        "Estimated tokens of one tool result a model reads unless the call says otherwise. Not over the maximum.",
    ),
    with_default(
        "runtime.max_tool_output_tokens",
        TOOL_TOKENS,
        "64000",
        "The most estimated tokens of one tool result a call may ask for.",
    ),
    with_default(
        "runtime.work_item_stale_reminder_rounds",
        ROUNDS,
        "10",
        "Model rounds without a change of a work item after which an agent in a long turn is reminded to update its item. 0 turns the reminder off.",
    ),
    with_default(
        "runtime.work_item_stale_reminder_cooldown_rounds",
        ROUNDS,
        "10",
        "Model rounds from one such reminder to the next.",
    ),
    with_default(
        "runtime.work_item_stale_reminder_max_tokens",
        TOOL_TOKENS,
        "512",
        "Estimated tokens such a reminder may take; a longer one is left out.",
    ),
    with_default(
        "context.thread_tokens",
        THREAD_TOKENS,
        "160000",
        "Estimated tokens of an agent's thread, its earlier turns as its model is shown them, above which the oldest are folded into a recap. 60 % of the model's window is a bound as well. `holon context limit` sets it for one agent.",
    ),
    with_default(
        "context.cold_after_secs",
        PATIENCE_SECONDS,
        "300",
        "Seconds after an agent's last turn from which on a provider's cache counts as expired. A larger thread is then folded before a turn that no operator began. 0 turns this off. Unless it is set, `providers.<id>.cache_life_secs` counts.",
    ),
    with_default(
        "context.cold_tokens",
        THREAD_TOKENS,
        "16000",
        "Estimated tokens of a thread above which that is done.",
    ),
    key(
        "providers.<id>.transport",
        TRANSPORTS,
        "How the provider is spoken to. A provider of your own needs it.",
    ),
    key(
        "providers.<id>.base_url",
        Kind::Text,
        "Where: an `https://` address without a query, or `http://` on this machine or with `auth.source` `none`. A provider of your own needs it.",
    ),
    key(
        "providers.<id>.reasoning_effort",
        EFFORTS,
        "How hard its models think unless an agent says otherwise; `default` leaves it to the provider.",
    ),
    with_default(
        "providers.<id>.omit",
        Kind::List,
        "[]",
        "Optional parts of a request that this provider is never sent, for servers that refuse them: any of `streaming`, `stream_usage`, `prompt_cache_key`, `reasoning`, `cache_marks`, `cache_life`, `parallel_tool_calls`, `tool_choice`, `truncation`, `context_management`. Without `streaming`, answers come in one piece.",
    ),
    with_default(
        "providers.<id>.cache_life_secs",
        PATIENCE_SECONDS,
        "300",
        "Seconds for which the provider keeps the beginning of a request in its cache after its last use. Counts where `context.cold_after_secs` is not set; 0 folds no thread for that reason.",
    ),
    key(
        "providers.<id>.long_cache_life_secs",
        PATIENCE_SECONDS,
        "Seconds for which the provider does so if a request asks for the longest life (`anthropic_messages`, `openai_responses`). It is asked for when the agent rested longer than the usual life and shorter than this. 3600 for `anthropic`, 86400 for `openai`, and 0 for all others, which are not asked.",
    ),
    with_default(
        "providers.<id>.store_responses",
        Kind::Flag,
        "false",
        "Whether the provider may keep responses, so that a later request can go on from one (`openai_responses` only).",
    ),
    with_default(
        "providers.<id>.context_management.enabled",
        Kind::Flag,
        "false",
        "Whether the provider may drop old tool results (`anthropic_messages`) or compact old items (`openai_responses`) by itself. A server that refuses it is asked without it.",
    ),
    with_default(
        "providers.<id>.context_management.trigger_input_tokens",
        TOKENS,
        "100000",
        "From how many input tokens on it does.",
    ),
    with_default(
        "providers.<id>.context_management.keep_recent_tool_uses",
        COUNT,
        "3",
        "How many of the newest tool uses stay (`anthropic_messages` only).",
    ),
    key(
        "providers.<id>.context_management.clear_at_least_input_tokens",
        TOKENS,
        "How many tokens a clearing must free at least (`anthropic_messages` only).",
    ),
    key(
        "providers.<id>.auth.source",
        SOURCES,
        "Where the credential comes from. A provider of your own that is not on this machine needs it.",
    ),
    key(
        "providers.<id>.auth.kind",
        KINDS,
        "What the credential is, which decides the header it is sent in. Default: `api_key`, or `session_token` with `external_cli`.",
    ),
    key(
        "providers.<id>.auth.env",
        Kind::List,
        "With `env`: the variables to look at; the first that is set counts.",
    ),
    key(
        "providers.<id>.auth.profile",
        Kind::Text,
        "With `credential_profile`: the profile that `holon config credentials set` stored.",
    ),
    key(
        "providers.<id>.auth.external",
        PROGRAMS,
        "With `external_cli`: the program whose login is used.",
    ),
    key(
        "providers.<id>.auth.command",
        Kind::List,
        "With `credential_process`: program and arguments of a command that prints the credential, for instance `secret-tool`, which reads the desktop's keyring.",
    ),
    with_default(
        "serve.http_addr",
        Kind::Text,
        "127.0.0.1:7878",
        "Address the HTTP control plane listens on.",
    ),
    with_default(
        "agent.default_id",
        Kind::Text,
        "main",
        "Agent that is meant when none is named.",
    ),
    with_default(
        "github.base_url",
        Kind::Text,
        "https://github.com",
        "Where templates and skills on GitHub are fetched from: `https://`, `http://` on this machine, or a `file://` directory with a mirror. The repository is `<owner>/<repo>.git` below it.",
    ),
    with_default(
        "web.fetch.enabled",
        Kind::Flag,
        "true",
        "Whether agents have the tool `WebFetch`.",
    ),
    with_default(
        "web.fetch.max_chars",
        Kind::Number {
            min: 100,
            max: 1_000_000,
        },
        "20000",
        "Characters of a page that a model reads; a call may ask for fewer.",
    ),
    with_default(
        "web.fetch.max_response_bytes",
        Kind::Number {
            min: 1_000,
            max: 100_000_000,
        },
        "750000",
        "Bytes that are read of a page, counted after decompression. A longer page is cut there.",
    ),
    with_default(
        "web.fetch.timeout_seconds",
        Kind::Number { min: 1, max: 600 },
        "20",
        "Seconds that one fetch may take, redirects included. A page that has begun is cut there.",
    ),
    with_default(
        "web.fetch.max_redirects",
        Kind::Number { min: 0, max: 20 },
        "5",
        "Redirects that one fetch follows.",
    ),
    with_default(
        "web.fetch.allowed_hosts",
        Kind::List,
        "[]",
        "If not empty, only these hosts and the names below them are fetched, also behind redirects.",
    ),
    with_default(
        "web.fetch.denied_hosts",
        Kind::List,
        "[]",
        "Hosts that are never fetched, with the names below them. Wins over the other lists.",
    ),
    with_default(
        "web.fetch.private_hosts",
        Kind::List,
        "[]",
        "Hosts that may be fetched although their addresses are not public, such as `wiki.lan` or `127.0.0.1:8080`. Everything that agents can reach there is theirs to read.",
    ),
    with_default(
        "web.search.enabled",
        Kind::Flag,
        "true",
        "Whether agents have the tool `WebSearch`. They have it only if a provider is configured too.",
    ),
    with_default(
        "web.search.provider",
        Kind::Text,
        "auto",
        "Provider that is asked first, by its name; `auto` takes those of `web.search.providers`.",
    ),
    with_default(
        "web.search.mode",
        SEARCH_MODES,
        "fallback",
        "`single` asks one provider, `fallback` one after the other until one has results, `aggregate` all of them.",
    ),
    with_default(
        "web.search.providers",
        Kind::List,
        "[]",
        "Names of the providers to ask, in this order. Empty: all configured ones by name.",
    ),
    with_default(
        "web.search.max_results",
        Kind::Number { min: 1, max: 50 },
        "5",
        "Results of one search; a call may ask for fewer.",
    ),
    with_default(
        "web.search.max_provider_attempts",
        Kind::Number { min: 1, max: 10 },
        "3",
        "Providers that one search asks at most.",
    ),
    key(
        "web.providers.<name>.kind",
        SEARCH_KINDS,
        "How the search provider is spoken to. Every search provider needs it.",
    ),
    key(
        "web.providers.<name>.base_url",
        Kind::Text,
        "Where: an `https://` address without a query, or `http://` on this machine. `searxng` needs it; the others have one.",
    ),
    key(
        "web.providers.<name>.credential_profile",
        Kind::Text,
        "Profile with its key, which `holon config credentials set` stored. `brave`, `tavily`, `exa`, `perplexity` and `firecrawl` need one at their usual address.",
    ),
    key(
        "web.providers.<name>.command.argv",
        Kind::List,
        "With `command`: program and arguments. It gets the query on its standard input and in `HOLON_SEARCH_QUERY`, and prints results as a JSON list or one JSON object in each line.",
    ),
    with_default(
        "web.providers.<name>.output.mapping.title",
        Kind::Text,
        "title",
        "With `command`: member that holds the title of a result. Dots lead into objects, here and below.",
    ),
    with_default(
        "web.providers.<name>.output.mapping.url",
        Kind::Text,
        "url",
        "With `command`: member that holds its address.",
    ),
    with_default(
        "web.providers.<name>.output.mapping.snippet",
        Kind::Text,
        "snippet",
        "With `command`: member that holds a part of its text.",
    ),
    with_default(
        "web.providers.<name>.output.mapping.published_at",
        Kind::Text,
        "published_at",
        "With `command`: member that holds its date.",
    ),
    with_default(
        "web.providers.<name>.limits.timeout_ms",
        Kind::Number {
            min: 100,
            max: 120_000,
        },
        "10000",
        "Milliseconds that it may take for one search.",
    ),
    key(
        "web.providers.<name>.limits.max_output_bytes",
        Kind::Number {
            min: 1_000,
            max: 10_000_000,
        },
        "Bytes of its answer that are read: 200000 of a command, 1000000 of a service unless it is set.",
    ),
    with_default(
        "tui.alternate_screen",
        SCREENS,
        "auto",
        "Whether `holon tui` has a screen of its own, which is gone when it is closed. `auto` means yes, apart from terminals in which scrolling back needs the normal screen (Zellij).",
    ),
    with_default(
        "delegation.max_depth",
        DELEGATION_DEPTH,
        "1",
        "Most agents above one that `SpawnAgent` makes: 1 lets an agent make children that make none, 0 none at all.",
    ),
    key(
        "operator.time_zone",
        Kind::Text,
        "Time zone of your clock, such as `Europe/Berlin`: agents are told the time in it, and new cron timers count in it. This machine's unless it is set.",
    ),
    key(
        "budgets.time_zone",
        Kind::Text,
        "Time zone in which the days of usage and budgets begin, such as `Europe/Berlin`. `operator.time_zone` unless it is set.",
    ),
    key(
        "budgets.agent_day_tokens",
        BUDGET_TOKENS,
        "Tokens that each agent may use in a day, unless `holon budget set --agent ID --day` says otherwise. No limit unless it is set.",
    ),
    key(
        "budgets.host_day_tokens",
        BUDGET_TOKENS,
        "Tokens that all agents may use together in a day, unless `holon budget set --host --day` says otherwise. No limit unless it is set.",
    ),
    with_default(
        "retention.event_budget_bytes",
        EVENT_BYTES,
        "1073741824",
        "Disk the audit events of all agents may take together.",
    ),
    with_default(
        "retention.store_budget_bytes",
        STORE_BYTES,
        "4294967296",
        "Disk the database may take. Beyond it the oldest turns of all agents are removed.",
    ),
    with_default(
        "retention.history_days",
        DAYS,
        "0",
        "Days for which turns, messages and events are kept; 0 for no limit of age.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::bounds::EFFORT_OF_THE_PROVIDER;
    use holon_domain::provider::AuthKind;
    use holon_domain::provider::AuthSource;
    use holon_domain::provider::ReasoningEffort;
    use holon_domain::provider::Transport;
    use holon_domain::web::SearchMode;
    use holon_domain::web::SearchProviderKind;

    #[test]
    fn the_choices_are_all_there_are() {
        let listed = |kind: Kind| match kind {
            Kind::Choice(all) | Kind::OpenChoice(all) => all.to_vec(),
            Kind::Text | Kind::Number { .. } | Kind::Flag | Kind::List => Vec::new(),
        };
        let names: Vec<&str> = Transport::ALL.iter().map(|one| one.as_str()).collect();
        assert_eq!(listed(TRANSPORTS), names);
        let efforts = ReasoningEffort::ALL.iter().map(|one| one.as_str());
        let names: Vec<&str> = efforts.chain([EFFORT_OF_THE_PROVIDER]).collect();
        assert_eq!(listed(EFFORTS), names);
        let names: Vec<&str> = AuthSource::ALL.iter().map(|one| one.as_str()).collect();
        assert_eq!(listed(SOURCES), names);
        let names: Vec<&str> = AuthKind::ALL.iter().map(|one| one.as_str()).collect();
        assert_eq!(listed(KINDS), names);
        let names: Vec<&str> = SearchMode::ALL.iter().map(|one| one.as_str()).collect();
        assert_eq!(listed(SEARCH_MODES), names);
        let kinds = SearchProviderKind::ALL.iter().map(|one| one.as_str());
        assert_eq!(listed(SEARCH_KINDS), kinds.collect::<Vec<_>>());
    }
}
