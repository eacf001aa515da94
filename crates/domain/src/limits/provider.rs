//! Bounds of requests to providers, of their failures, and of credentials.

/// Retries per model after the first attempt. Then the next model of the chain is asked.
pub const PROVIDER_RETRIES: u32 = 2;
/// First pause between attempts (backoff), in milliseconds.
pub const BACKOFF_BASE_MS: u64 = 1_000;
/// Factor by which the pause between attempts grows: one second, then half a minute, which outlasts most short outages
/// of a provider.
pub const BACKOFF_GROWTH: u64 = 30;
/// The same factor for a turn whose caller waits for its end.
pub const BACKOFF_GROWTH_ATTENDED: u64 = 2;
/// Longest pause between attempts, in milliseconds, even if the provider asks for more.
pub const BACKOFF_MAX_MS: u64 = 60_000;
/// Most fallback models of one turn. Further ones of the chain are never asked.
pub const FALLBACKS: usize = 16;
/// Fewest tokens of thinking that can be asked for, by the rule of the Anthropic API. A smaller number is refused.
pub const MIN_THINKING_TOKENS: u32 = 1_024;
/// Milliseconds that a turn without a waiting caller stays suspended and retries by itself, unless
/// `runtime.provider_patience_secs` sets another time. Outages until a named renewal do not count. After this time it
/// stays suspended until an operator acts.
pub const PROVIDER_PATIENCE_MS: u64 = 24 * 60 * 60 * 1_000;
/// Longest pause of a suspended turn before it asks its models again, in milliseconds. A later renewal that the
/// provider named is waited for.
pub const SUSPENSION_PAUSE_MAX_MS: u64 = 300_000;
/// Longest time in milliseconds that a turn waits for the network or for a new allowance while its caller waits for its
/// end. With the attempts between the pauses that is about a minute.
pub const ATTENDED_PATIENCE_MS: u64 = 30_000;
/// Farthest renewal of an allowance that a turn waits for, and the most it waits for renewals in total, in
/// milliseconds: a week and a day, since weekly allowances are the longest.
pub const RENEWAL_PATIENCE_MS: u64 = 8 * 24 * 60 * 60 * 1_000;
/// Most times that one round is parked until an allowance is renewed, if a caller waits for the run. Then the turn
/// fails.
pub const PARKS_PER_ROUND: u32 = 3;
/// Context window that a model without a known one may have, in tokens. A provider that reports more for one call of it is
/// not believed.
pub const LARGEST_WINDOW_TOKENS: u32 = 2_000_000;
/// Largest script of the scripted provider, in bytes. A larger one is refused.
pub const SCRIPT_BYTES: u64 = 4 << 20;
/// Timeout of a DNS lookup of a provider, in milliseconds. It must be below the connect timeout, or a silent name
/// server would look like a slow provider.
pub const PROVIDER_LOOKUP_MS: u64 = 5_000;
/// Timeout of a connection to a provider, in milliseconds, DNS lookup and TLS included. A host that is up answers in
/// far less; a slower one is retried.
pub const PROVIDER_CONNECT_MS: u64 = 10_000;
/// Timeout for the first byte of a streamed answer, in milliseconds. An answer in one piece begins when the model is
/// done, so it may take three times as long.
pub const PROVIDER_FIRST_BYTE_MS: u64 = 300_000;
/// Timeout between two pieces of an answer that has begun, in milliseconds.
pub const PROVIDER_IDLE_MS: u64 = 300_000;
/// Timeout for the body of an error response, in milliseconds. The status has already decided the outcome.
pub const PROVIDER_ERROR_MS: u64 = 3_000;
/// Timeout without content in an answer, in milliseconds, even if comments or other signs of life keep arriving. There
/// is no limit on the length of an answer in time.
pub const PROVIDER_CONTENT_MS: u64 = 900_000;
/// Largest answer of a provider after decompression, largest single event of a stream, and most bytes kept of a stream.
/// The longest answers of today's models are below one MiB. A larger answer is refused, so a gzip bomb costs no more
/// than a few times this.
pub const PROVIDER_ANSWER_BYTES: usize = 4 << 20;
/// Estimated memory that one JSON document of a provider may take once parsed. A document of many tiny values takes up
/// to a hundred times its own length. An answer of a hundred thousand tokens of nothing but small objects takes less
/// than this.
pub const PROVIDER_PARSED_BYTES: usize = 32 << 20;
/// Factor by which a whole stream may be larger than one answer: a stream repeats its content in small pieces.
pub const PROVIDER_STREAM_FACTOR: usize = 8;
/// Bytes read of an error response; the rest is ignored.
pub const PROVIDER_ERROR_BYTES: usize = 64 << 10;
/// Longest retry delay that is accepted from a provider's headers or message, in milliseconds: the longest month.
pub const PROVIDER_WAIT_MAX_MS: u64 = 31 * 24 * 60 * 60 * 1_000;
/// Time in which a server describes the context window of a model, in milliseconds. A round waits no longer for it.
/// Without a description the window is assumed.
pub const PROVIDER_DESCRIPTION_MS: u64 = 2_000;
/// Milliseconds after which a server that did not describe a model in time is asked again. They double with each
/// further failure. A server that fails at once, and one that has not loaded the model yet, is first asked again
/// without a pause.
pub const PROVIDER_DESCRIPTION_PAUSE_MS: u64 = 60_000;
/// Longest of these pauses, and the time after which a server is asked again that has described a model, or has none to
/// describe. It may have been started anew with another window.
pub const PROVIDER_DESCRIPTION_AGE_MS: u64 = 60 * 60 * 1_000;
/// Most models whose description is remembered. Beyond it no server is asked for one.
pub const PROVIDER_DESCRIPTIONS: usize = 1_000;
/// Smallest limit that is learned from a provider. No model has less, and a learned limit is kept.
pub const PROVIDER_LEARNED_MIN_TOKENS: u32 = 256;
/// Largest limit that is learned from a provider.
pub const PROVIDER_LEARNED_MAX_TOKENS: u32 = 100_000_000;
/// Most stored responses that a later request may continue from. The least recently used one is forgotten, and the next
/// request of that agent is sent whole.
pub const PROVIDER_CONTINUATIONS: usize = 256;
/// Most models read from a provider's own list; the rest is ignored.
pub const PROVIDER_MODELS: usize = 2_000;
/// Most credentials that a host remembers in order to redact them from provider responses. Beyond it the one fetched
/// longest ago is forgotten. A command that prints a new one every five minutes fills it in five hours.
pub const KNOWN_SECRETS: usize = 64;
/// Most agents of which a host remembers how their last request began, to measure how much of the next one repeats it.
/// Beyond it the one that asked longest ago is forgotten, and its next request is not compared.
pub const REQUEST_TRAILS: usize = 256;
/// Idle connections kept per provider for the next round.
pub const PROVIDER_IDLE_CONNECTIONS: usize = 8;
/// Milliseconds that an idle connection is kept. Most servers close theirs after a minute or more; the host closes
/// first.
pub const PROVIDER_KEEP_ALIVE_MS: u64 = 55_000;
/// Context window, in tokens, that is assumed for an unknown model. Most models take this much; set a larger one in
/// `models.catalog`, or let the host learn it from the server's description of itself or from the provider's error.
pub const UNKNOWN_WINDOW_TOKENS: u32 = 32_000;
/// Share of a context window, in percent, that a prompt may take by default. The rest is for the answer and for the
/// error of the token estimate.
pub const WINDOW_PERCENT: u8 = 90;
/// Most output tokens that are assumed for an unknown model. Fewer cut off patches of usual size in the middle.
pub const UNKNOWN_MAX_OUTPUT_TOKENS: u32 = 16_384;
/// Smallest window, in assumed answers, of a model whose output limit is assumed: such an answer gets at most this part of
/// the window, so that a small window has room for what is answered.
pub const UNKNOWN_OUTPUT_SHARE: u32 = 3;
/// Longest credential, in bytes. A longer one is refused: it would not fit the head of a request.
pub const CREDENTIAL_BYTES: usize = 16 << 10;
/// Largest file that is searched for a credential, in bytes. A larger one is refused.
pub const CREDENTIAL_FILE_BYTES: u64 = 1 << 20;
/// Most stored credential profiles. One more is refused until one is removed.
pub const CREDENTIAL_PROFILES: usize = 256;
/// Largest `config.toml`, in bytes. A larger one is refused.
pub const CONFIG_FILE_BYTES: u64 = 1 << 20;
