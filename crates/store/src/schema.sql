-- The schema of a new store: what all scripts of `migrations` make together, as a test checks. A change of it is a new
-- script there, and the same change here.

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
    record TEXT NOT NULL,
    settings TEXT,
    newest_message INTEGER,
    newest_entry INTEGER,
    newest_brief INTEGER,
    newest_effect INTEGER,
    newest_turn INTEGER,
    aside TEXT,
    interjections_listed INTEGER,
    birth INTEGER NOT NULL DEFAULT 0,
    memory_taken INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX agents_attention ON agents (agent_no) WHERE attention = 1;
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
CREATE INDEX log_messages ON log (agent_no, seq, message_seq) WHERE message_seq IS NOT NULL;

CREATE TABLE briefs (
    brief_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    row TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX briefs_of_agent ON briefs (agent_no, seq);

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
    set_at INTEGER,
    length_ms INTEGER,
    PRIMARY KEY (at, agent_no, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX due_by_id ON due (agent_no, id);
CREATE INDEX due_of_agent ON due (agent_no, at);

CREATE TABLE blobs (
    hash TEXT PRIMARY KEY,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE blob_refs (
    agent_no INTEGER NOT NULL,
    hash TEXT NOT NULL,
    newest INTEGER,
    PRIMARY KEY (agent_no, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_refs_of_text ON blob_refs (hash);
CREATE INDEX blob_refs_by_use ON blob_refs (agent_no, newest);

CREATE TABLE model_limits (
    model_ref TEXT PRIMARY KEY,
    context_window_tokens INTEGER,
    max_output_tokens INTEGER,
    window_source TEXT,
    window_learned_at INTEGER,
    output_learned_at INTEGER,
    endpoint TEXT,
    stated_window_tokens INTEGER,
    token_ratio INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
    task_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    ended INTEGER,
    record TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX tasks_of_agent ON tasks (agent_no, task_id);
CREATE INDEX tasks_begun ON tasks (agent_no, task_no);
CREATE INDEX tasks_ended ON tasks (agent_no, ended, task_no);

CREATE TABLE attempts (
    agent_no INTEGER NOT NULL,
    n INTEGER NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (agent_no, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE interjections (
    agent_no INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (agent_no, priority, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE work_items (
    item_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    work_item_id TEXT NOT NULL,
    class INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    idle INTEGER NOT NULL,
    wake_count INTEGER NOT NULL,
    recheck_at INTEGER,
    record TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX work_items_of_agent ON work_items (agent_no, work_item_id);
CREATE INDEX work_items_changed ON work_items (agent_no, changed);
CREATE INDEX work_items_class ON work_items (agent_no, class, changed);
CREATE INDEX work_items_next ON work_items (agent_no, idle, wake_count, changed) WHERE class = 0;
CREATE INDEX work_items_rechecks ON work_items (agent_no, recheck_at) WHERE recheck_at IS NOT NULL;

CREATE TABLE waits (
    wait_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    wait_id TEXT NOT NULL,
    active INTEGER NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX waits_of_agent ON waits (agent_no, wait_id);
CREATE INDEX waits_begun ON waits (agent_no, wait_no);
CREATE INDEX waits_active ON waits (agent_no, wait_no) WHERE active = 1;

CREATE TABLE timers (
    timer_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    timer_id TEXT NOT NULL,
    active INTEGER NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX timers_of_agent ON timers (agent_no, timer_id);
CREATE INDEX timers_begun ON timers (agent_no, timer_no);
CREATE INDEX timers_active ON timers (agent_no, timer_no) WHERE active > 0;
CREATE INDEX timers_parked ON timers (agent_no, timer_no) WHERE active = 2;

CREATE TABLE hints (
    agent_no INTEGER NOT NULL,
    key TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (agent_no, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE workspaces (
    workspace_id TEXT PRIMARY KEY,
    anchor TEXT NOT NULL,
    kind TEXT NOT NULL,
    repository TEXT,
    registered_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX workspaces_seen ON workspaces (seen_at);

CREATE TABLE occupancies (
    agent_no INTEGER PRIMARY KEY,
    execution_root TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX occupancies_of_root ON occupancies (execution_root);

CREATE TABLE kept_replies (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    reply TEXT NOT NULL,
    kept_at INTEGER NOT NULL,
    birth INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_replies_by_age ON kept_replies (kept_at);
CREATE INDEX kept_replies_large ON kept_replies (kept_at) WHERE length(reply) > 4096;

CREATE TABLE tokens (
    name TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstones (
    agent_id TEXT PRIMARY KEY,
    deleted_at INTEGER NOT NULL,
    newest_event INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE removals (
    row_no INTEGER PRIMARY KEY,
    agent_id TEXT,
    newest_event INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE TABLE external_triggers (
    trigger_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    trigger_id TEXT NOT NULL,
    active INTEGER NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX external_triggers_by_id ON external_triggers (trigger_id);
CREATE INDEX external_triggers_of_agent ON external_triggers (agent_no, trigger_no);

CREATE TABLE deliveries (
    agent_no INTEGER NOT NULL,
    lane TEXT NOT NULL,
    seq INTEGER NOT NULL,
    status INTEGER NOT NULL,
    record TEXT NOT NULL,
    outcome TEXT,
    PRIMARY KEY (agent_no, lane, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_pending ON deliveries (lane, agent_no, seq) WHERE status = 0;
CREATE INDEX deliveries_given_up ON deliveries (lane, agent_no, seq) WHERE status = 2;
CREATE INDEX deliveries_accepted ON deliveries (lane, agent_no) WHERE status = 1;

CREATE TABLE delivery_targets (
    name TEXT NOT NULL PRIMARY KEY,
    record TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE usage (
    day TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    item_id TEXT NOT NULL,
    model_ref TEXT NOT NULL,
    root_id TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    estimated_calls INTEGER NOT NULL,
    estimated_tokens INTEGER NOT NULL,
    known_cost INTEGER NOT NULL,
    unpriced_calls INTEGER NOT NULL,
    PRIMARY KEY (day, agent_id, item_id, model_ref, root_id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE day_meters (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    day TEXT NOT NULL,
    spent_tokens INTEGER NOT NULL,
    spent_micro_usd INTEGER NOT NULL,
    unpriced_calls INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE reserved (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    calls INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    micro_usd INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER reservation_made AFTER INSERT ON reservations BEGIN
    INSERT INTO reserved (scope, key, calls, tokens, micro_usd, unpriced)
    VALUES ('agent', new.agent_id, 1, new.tokens, max(new.micro_usd, 0), new.micro_usd < 0),
        ('tree', new.root_id, 1, new.tokens, max(new.micro_usd, 0), new.micro_usd < 0),
        ('item', new.item_id, 1, new.tokens, max(new.micro_usd, 0), new.micro_usd < 0),
        ('host', '', 1, new.tokens, max(new.micro_usd, 0), new.micro_usd < 0)
    ON CONFLICT (scope, key) DO UPDATE SET calls = min(calls, 4398046511104) + 1,
        tokens = min(tokens, 4611686018427387904) + iif(tokens < 0, 0, excluded.tokens),
        micro_usd = min(micro_usd, 4611686018427387904) + iif(micro_usd < 0, 0, excluded.micro_usd),
        unpriced = min(unpriced, 4398046511104) + iif(unpriced < 0, 0, excluded.unpriced);
END;

CREATE TRIGGER reservation_released AFTER DELETE ON reservations BEGIN
    UPDATE reserved SET calls = max(calls, 0) - 1,
        tokens = tokens - iif(tokens < 0, 0, min(max(old.tokens, 0), 4398046511104)),
        micro_usd = micro_usd - iif(micro_usd < 0, 0, min(max(old.micro_usd, 0), 4398046511104)),
        unpriced = unpriced - iif(unpriced < 0, 0, old.micro_usd < 0)
    WHERE (scope, key) IN (VALUES ('agent', old.agent_id), ('tree', old.root_id), ('item', old.item_id), ('host', ''));
    DELETE FROM reserved
    WHERE (scope, key) IN (VALUES ('agent', old.agent_id), ('tree', old.root_id), ('item', old.item_id), ('host', ''))
        AND calls <= 0;
END;

CREATE TABLE children (
    spawn_no INTEGER PRIMARY KEY,
    root TEXT NOT NULL,
    parent TEXT NOT NULL,
    child TEXT NOT NULL,
    depth INTEGER NOT NULL,
    supervised INTEGER NOT NULL,
    live INTEGER NOT NULL,
    spawned_at INTEGER NOT NULL
) STRICT;
CREATE INDEX children_by_name ON children (child, spawn_no);
CREATE INDEX children_of_parent ON children (parent, spawn_no) WHERE supervised = 1;
CREATE INDEX children_live ON children (root) WHERE supervised = 1 AND live = 1;

CREATE TABLE spawns (
    spawn_no INTEGER PRIMARY KEY,
    root TEXT NOT NULL,
    spawned_at INTEGER NOT NULL
) STRICT;
CREATE INDEX spawns_of_root ON spawns (root, spawn_no);
CREATE INDEX spawns_by_time ON spawns (spawned_at);

CREATE TABLE memory_outbox (
    agent_no INTEGER NOT NULL,
    position INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (agent_no, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX memory_outbox_sources ON memory_outbox (agent_no, kind, source);

CREATE TABLE workspace_profiles (
    workspace_id TEXT NOT NULL PRIMARY KEY,
    record TEXT NOT NULL,
    written_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE working_memory (
    agent_no INTEGER PRIMARY KEY,
    record TEXT NOT NULL
) STRICT;

CREATE TABLE episodes (
    episode_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    work_item_id TEXT,
    record TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX episodes_of_agent ON episodes (agent_no, seq);
CREATE INDEX episodes_of_item ON episodes (agent_no, work_item_id, seq) WHERE work_item_id IS NOT NULL;

CREATE TABLE output_refs (
    agent_no INTEGER NOT NULL,
    name TEXT NOT NULL,
    newest INTEGER NOT NULL,
    PRIMARY KEY (agent_no, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX output_refs_by_use ON output_refs (agent_no, newest);

CREATE TABLE image_refs (
    agent_no INTEGER NOT NULL,
    message_seq INTEGER NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (agent_no, message_seq, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX image_refs_of_image ON image_refs (digest);

CREATE TABLE delivery_summaries (
    summary_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    summary_id TEXT NOT NULL,
    entry INTEGER,
    row TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX delivery_summaries_of_agent ON delivery_summaries (agent_no, summary_id);
CREATE INDEX delivery_summaries_in_log ON delivery_summaries (agent_no, entry) WHERE entry IS NOT NULL;
