-- The first schema. Rows of agents carry the agent's short number; positions are dense per agent.
-- Tables that grow for ever are appended to at their end, so that their pages are full and large bodies stay in them;
-- one index per agent finds the rows. Tables that stay small are kept in the order they are read.
-- Integer columns beside a JSON text are derived from it by the same write and answer one hot query each.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
    agent_no INTEGER PRIMARY KEY,
    agent_id TEXT NOT NULL UNIQUE,
    visible INTEGER NOT NULL,
    attention INTEGER NOT NULL,
    pending INTEGER NOT NULL,
    interjections INTEGER NOT NULL,
    oldest_event INTEGER NOT NULL,
    newest_event INTEGER NOT NULL,
    event_bytes INTEGER NOT NULL,
    event_chunks INTEGER NOT NULL,
    record TEXT NOT NULL
) STRICT;
-- Which agents boot has to look at.
CREATE INDEX agents_attention ON agents (agent_id) WHERE attention = 1;
-- Which agents hold the most events; in coarse chunks, so that it changes rarely.
CREATE INDEX agents_holding ON agents (event_chunks) WHERE event_chunks > 0;

CREATE TABLE messages (
    message_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    status INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    interject INTEGER NOT NULL,
    max_rounds INTEGER,
    outcome INTEGER,
    envelope TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX messages_of_agent ON messages (agent_no, seq);
-- The queue: only what waits, in the order it is taken.
CREATE INDEX messages_queue ON messages (agent_no, priority, seq) WHERE status = 0;

CREATE TABLE log (
    entry_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    turn_index INTEGER NOT NULL,
    at INTEGER NOT NULL,
    message_seq INTEGER,
    entry TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX log_of_agent ON log (agent_no, seq);
-- The messages turns took up, found without reading the rounds between them.
CREATE INDEX log_messages ON log (agent_no, seq, message_seq) WHERE message_seq IS NOT NULL;

CREATE TABLE briefs (
    brief_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    row TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX briefs_of_agent ON briefs (agent_no, seq);

-- The events one decision recorded are one row, found by the last of them; `data` is [[kind, version, payload], ...].
CREATE TABLE events (
    row_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    data TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_of_agent ON events (agent_no, last_seq);

CREATE TABLE effects (
    agent_no INTEGER NOT NULL,
    id INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    effect TEXT NOT NULL,
    PRIMARY KEY (agent_no, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE due (
    at INTEGER NOT NULL,
    agent_no INTEGER NOT NULL,
    id INTEGER NOT NULL,
    due TEXT NOT NULL,
    PRIMARY KEY (at, agent_no, id)
) STRICT, WITHOUT ROWID;
-- One entry by its number, when it is cleared.
CREATE UNIQUE INDEX due_by_id ON due (agent_no, id);

-- Texts are shared between agents: each is stored once and lives as long as an agent refers to it.
CREATE TABLE blobs (
    hash TEXT PRIMARY KEY,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE blob_refs (
    agent_no INTEGER NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (agent_no, hash)
) STRICT, WITHOUT ROWID;
-- Whether anybody else refers to a text, when an agent goes.
CREATE INDEX blob_refs_of_text ON blob_refs (hash);
