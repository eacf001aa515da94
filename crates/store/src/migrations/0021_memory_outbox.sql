-- Changes of sources of memory, for the index of each agent. `source` is the key of the source in its own table; an
-- entry replaces the earlier one of the same source. The index keeps the position up to which it has taken them.
-- `kind`: 1 workspace profile, 2 brief, 3 episode, 4 work item.
CREATE TABLE memory_outbox (
    agent_no INTEGER NOT NULL,
    position INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (agent_no, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX memory_outbox_sources ON memory_outbox (agent_no, kind, source);
-- Newest position whose entry was removed. An index that is behind it has missed something and is built anew.
ALTER TABLE agents ADD COLUMN memory_taken INTEGER NOT NULL DEFAULT 0;
-- What the runtime knows about each workspace of the host.
CREATE TABLE workspace_profiles (
    workspace_id TEXT NOT NULL PRIMARY KEY,
    record TEXT NOT NULL,
    written_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
