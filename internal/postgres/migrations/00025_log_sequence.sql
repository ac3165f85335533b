-- +goose Up

-- An agent numbers the lines of its log. A batch that it sends again, because it did not receive
-- the answer, adds only lines that the log does not have.
ALTER TABLE workspace_agents
    ADD COLUMN logs_sequence uuid, -- the run of the agent that numbered the last line
    ADD COLUMN logs_next bigint NOT NULL DEFAULT 0; -- number of the next line in it
