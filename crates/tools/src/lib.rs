//! Tool schemas, argument parsing, envelopes and intents.
