-- The soonest entries of one agent, for the wake it expects. The table holds open pauses and slots only, so it is small.
CREATE INDEX due_of_agent ON due (agent_no, at);
