-- +goose Up

-- Plans of the next start of workspaces, made before the start is requested. A row without a
-- plan states why there is none, or that its job has not ended. Servers of the previous version
-- neither read nor write the table.
CREATE TABLE workspace_plans (
    workspace_id uuid PRIMARY KEY REFERENCES workspaces ON DELETE CASCADE,
    job_id       uuid REFERENCES provisioner_jobs ON DELETE SET NULL, -- the job that plans
    build_number integer NOT NULL,              -- the build that was the last one
    key          bytea NOT NULL DEFAULT '',     -- SHA-256 of everything that the plan read
    plan         bytea NOT NULL DEFAULT '',
    plan_key_id  text NOT NULL DEFAULT '',
    reason       text NOT NULL DEFAULT '',      -- why there is no plan
    made_at      timestamptz NOT NULL
);
CREATE INDEX workspace_plans_job ON workspace_plans (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX workspace_plans_made ON workspace_plans (made_at);
