-- Usage of models, summed up for each day, agent, work item and model. It belongs to the host and outlives the agents.
-- `item_id` is empty for turns without a work item. Costs are in micro-dollars; calls without a known price are counted
-- in `unpriced_calls` and are no part of `known_cost`.
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
