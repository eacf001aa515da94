-- Budgets of the host. `record` holds the limits; `spent_*` are the sums of the charges since ever, or of `day` for a
-- budget of a day. The calls that are open are in `reservations`, one for each agent at most.
CREATE TABLE budgets (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    period TEXT NOT NULL,
    record TEXT NOT NULL,
    day TEXT NOT NULL,
    spent_tokens INTEGER NOT NULL,
    spent_micro_usd INTEGER NOT NULL,
    unpriced_calls INTEGER NOT NULL,
    PRIMARY KEY (scope, key, period)
) STRICT, WITHOUT ROWID;

CREATE TABLE reservations (
    agent_no INTEGER NOT NULL PRIMARY KEY,
    agent_id TEXT NOT NULL,
    root_id TEXT NOT NULL,
    item_id TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    micro_usd INTEGER NOT NULL
) STRICT;
