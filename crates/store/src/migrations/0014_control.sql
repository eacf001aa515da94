-- Replies to requests that have an idempotency key. The commit of a decision writes its row.
CREATE TABLE kept_replies (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    reply TEXT NOT NULL,
    kept_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_replies_by_age ON kept_replies (kept_at);
-- Named tokens of callers. Only the hash of a secret is stored.
CREATE TABLE tokens (
    name TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Names of removed agents that callers knew. The row is written before the agent's own rows are removed.
CREATE TABLE tombstones (
    agent_id TEXT PRIMARY KEY,
    deleted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
