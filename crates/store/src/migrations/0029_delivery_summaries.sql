-- The reports of completed work items. While the text of one stands in the log, `entry` is its position there.
CREATE TABLE delivery_summaries (
    summary_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    summary_id TEXT NOT NULL,
    entry INTEGER,
    row TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX delivery_summaries_of_agent ON delivery_summaries (agent_no, summary_id);
CREATE INDEX delivery_summaries_in_log ON delivery_summaries (agent_no, entry) WHERE entry IS NOT NULL;
