-- What trees have spawned in the last hour. The rows of children go with the children.
CREATE TABLE spawns (
    spawn_no INTEGER PRIMARY KEY,
    root TEXT NOT NULL,
    spawned_at INTEGER NOT NULL
) STRICT;
CREATE INDEX spawns_of_root ON spawns (root, spawn_no);

-- Only the last hour counts.
INSERT INTO spawns (spawn_no, root, spawned_at)
SELECT spawn_no, root, spawned_at FROM children WHERE spawned_at > (unixepoch() - 3600) * 1000;
DROP INDEX children_of_root;
