-- Every workspace that an agent of this host was given, and the execution roots that agents occupy.
CREATE TABLE workspaces (
    workspace_id TEXT PRIMARY KEY,
    anchor TEXT NOT NULL,
    kind TEXT NOT NULL,
    repository TEXT,
    registered_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX workspaces_seen ON workspaces (seen_at);

-- `execution_root` is derived from `record` by the same write.
CREATE TABLE occupancies (
    agent_no INTEGER PRIMARY KEY,
    execution_root TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX occupancies_of_root ON occupancies (execution_root);
