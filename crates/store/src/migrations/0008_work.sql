-- Work items, waits, timers and wake hints. Columns beside `record` are derived from it by the same write.
-- `class` groups items for lists: 0 may run, 1 waits for an operator, 2 is blocked or waits for something else,
-- 3 is completed. `idle` is 3 for an item that stalled; a `wake_count` below the agent's makes it void.
-- `recheck_at` is set while a reminder has come and no answered request has shown it.
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
-- Lists, newest change first.
CREATE INDEX work_items_changed ON work_items (agent_no, changed);
CREATE INDEX work_items_class ON work_items (agent_no, class, changed);
-- The item a tick offers next.
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
-- `active`: 0 over, 1 its next slot is in `due`, 2 the slot came while the agent was stopped.
CREATE INDEX timers_active ON timers (agent_no, timer_no) WHERE active > 0;
CREATE INDEX timers_parked ON timers (agent_no, timer_no) WHERE active = 2;

CREATE TABLE hints (
    agent_no INTEGER NOT NULL,
    key TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (agent_no, key)
) STRICT, WITHOUT ROWID;
