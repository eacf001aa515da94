-- Commands and children that go on without the call that started them; numbered in the order they began.
-- `ended` counts an agent's tasks that are over, in the order they ended; NULL while one is not. It tells which are
-- active and which are the oldest, whatever clocks did meanwhile.
CREATE TABLE tasks (
    task_no INTEGER PRIMARY KEY,
    agent_no INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    ended INTEGER,
    record TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX tasks_of_agent ON tasks (agent_no, task_id);
-- A page of them, by their beginning.
CREATE INDEX tasks_begun ON tasks (agent_no, task_no);
-- The active ones, and the oldest of those that are over.
CREATE INDEX tasks_ended ON tasks (agent_no, ended, task_no);
