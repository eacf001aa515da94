-- The working memory of an agent: one row, replaced at the end of a turn.
CREATE TABLE working_memory (
    agent_no INTEGER PRIMARY KEY,
    record TEXT NOT NULL
) STRICT;
-- Archived episodes. Rows are never changed. `work_item_id` repeats a field of the record, for the selection of prompts.
CREATE TABLE episodes (
    episode_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    work_item_id TEXT,
    record TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX episodes_of_agent ON episodes (agent_no, seq);
CREATE INDEX episodes_of_item ON episodes (agent_no, work_item_id, seq) WHERE work_item_id IS NOT NULL;
