-- +goose Up

-- What lists of workspaces filter and sort by, in the row of each workspace, so that a list reads one table: the
-- name of the owner, and of the latest build the template version, the transition and the outcome of its job (null
-- until the job ends). Triggers maintain these columns, also while servers of the previous version run.
ALTER TABLE workspaces
    ADD COLUMN owner_name text NOT NULL DEFAULT '', -- users.username
    ADD COLUMN latest_version_id uuid,
    ADD COLUMN latest_transition text,
    ADD COLUMN latest_outcome text CHECK (latest_outcome IN ('succeeded', 'canceled', 'failed'));

-- The lock makes a change of the user's name wait until its trigger sees this workspace.
-- +goose StatementBegin
CREATE FUNCTION workspace_owner_name() RETURNS trigger LANGUAGE plpgsql AS '
BEGIN
    NEW.owner_name := (SELECT u.username FROM users u WHERE u.id = NEW.owner_id FOR SHARE);
    RETURN NEW;
END';
-- +goose StatementEnd
CREATE TRIGGER workspace_owner_name BEFORE INSERT OR UPDATE OF owner_id ON workspaces FOR EACH ROW EXECUTE FUNCTION workspace_owner_name();

-- +goose StatementBegin
CREATE FUNCTION user_renamed() RETURNS trigger LANGUAGE plpgsql AS '
BEGIN
    UPDATE workspaces SET owner_name = NEW.username WHERE owner_id = NEW.id;
    RETURN NULL;
END';
-- +goose StatementEnd
CREATE TRIGGER user_renamed AFTER UPDATE OF username ON users FOR EACH ROW
    WHEN (NEW.username <> OLD.username) EXECUTE FUNCTION user_renamed();

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION workspace_latest_build() RETURNS trigger LANGUAGE plpgsql AS '
BEGIN
    UPDATE workspace_builds SET current = false WHERE id = (SELECT w.latest_build_id FROM workspaces w WHERE w.id = NEW.workspace_id);
    UPDATE workspaces SET latest_build_id = NEW.id, latest_version_id = NEW.template_version_id, latest_transition = NEW.transition,
        latest_outcome = (SELECT j.status FROM provisioner_jobs j WHERE j.id = NEW.job_id AND j.completed_at IS NOT NULL)
    WHERE id = NEW.workspace_id;
    UPDATE workspace_agents SET current_workspace_id = NULL WHERE current_workspace_id = NEW.workspace_id;
    UPDATE workspace_agents a SET current_workspace_id = NEW.workspace_id
    FROM workspace_resources r WHERE r.job_id = NEW.job_id AND a.resource_id = r.id;
    RETURN NEW;
END';
-- +goose StatementEnd

-- The end of a job locks its workspace after the job, in the order in which servers lock both.
-- +goose StatementBegin
CREATE FUNCTION workspace_latest_outcome() RETURNS trigger LANGUAGE plpgsql AS '
BEGIN
    UPDATE workspaces w SET latest_outcome = CASE WHEN NEW.completed_at IS NOT NULL THEN NEW.status END
    FROM workspace_builds b WHERE b.job_id = NEW.id AND w.id = b.workspace_id AND w.latest_build_id = b.id;
    RETURN NULL;
END';
-- +goose StatementEnd
CREATE TRIGGER workspace_latest_outcome AFTER UPDATE ON provisioner_jobs FOR EACH ROW
    WHEN (NEW.status <> OLD.status AND NEW.type = 'workspace_build' AND (NEW.completed_at IS NOT NULL OR OLD.completed_at IS NOT NULL))
    EXECUTE FUNCTION workspace_latest_outcome();

UPDATE workspaces w SET owner_name = u.username, latest_version_id = b.template_version_id, latest_transition = b.transition,
    latest_outcome = CASE WHEN j.completed_at IS NOT NULL THEN j.status END
FROM workspaces l
JOIN users u ON u.id = l.owner_id
LEFT JOIN workspace_builds b ON b.id = l.latest_build_id
LEFT JOIN provisioner_jobs j ON j.id = b.job_id
WHERE l.id = w.id;
