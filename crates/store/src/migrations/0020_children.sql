-- Agents that other agents made, numbered in the order they were made. `root` is the root of their tree and `depth` the
-- number of agents above them. `supervised`: 1 for a private child of a task. `live`: 1 until the agent has ended.
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
-- The place of one agent.
CREATE INDEX children_by_name ON children (child, spawn_no);
-- The children of an agent.
CREATE INDEX children_of_parent ON children (parent, spawn_no) WHERE supervised = 1;
-- The newest spawns of a tree.
CREATE INDEX children_of_root ON children (root, spawn_no);
-- The live children of a tree.
CREATE INDEX children_live ON children (root) WHERE supervised = 1 AND live = 1;
