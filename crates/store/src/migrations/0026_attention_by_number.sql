-- Boot reads the agents that need it by number, like the open effects, so that its pages read each row once. There are few
-- rows of such agents.
DROP INDEX agents_attention;
CREATE INDEX agents_attention ON agents (agent_no) WHERE attention = 1;
