//! Bounds of usage rows and budgets.

/// Days for which the usage of models is kept, in rows of a day, agent, work item and model. Older rows are removed.
pub const USAGE_DAYS: u32 = 400;
/// Most rows that one page of usage lists; the next page begins after its last key.
pub const USAGE_PAGE: usize = 500;
/// Tokens that the first request of an agent is guessed to have. An answered request replaces the guess.
pub const FIRST_CALL_TOKENS: u64 = 8_000;
/// Most budgets of one host. One more is refused with 409 (`too_many_budgets`): every model call compares itself with all
/// of them.
pub const BUDGETS: usize = 1_000;
/// Fewest tokens of an answer for which a budget must have room before its model is asked, unless the model itself allows
/// fewer. A shorter answer would be cut off and paid for nothing.
pub const BUDGET_LEAST_ANSWER_TOKENS: u64 = 256;
/// Pause before a call is tried again whose room in a budget other open calls have reserved, in milliseconds.
pub const BUDGET_HELD_PAUSE_MS: u64 = 2_000;
