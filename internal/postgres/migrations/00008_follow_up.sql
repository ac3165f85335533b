-- +goose Up

-- The start that follows a stop, asked for together with it. A row is gone once
-- the start was added, or once the stop ended in another way.
CREATE TABLE workspace_build_follow_ups (
    build_id   uuid PRIMARY KEY REFERENCES workspace_builds ON DELETE CASCADE, -- the stop
    request    jsonb NOT NULL, -- coder.CreateWorkspaceBuildRequest
    created_at timestamptz NOT NULL
);

