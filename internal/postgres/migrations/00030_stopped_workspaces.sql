-- +goose NO TRANSACTION
-- +goose Up

-- Finds the workspaces that were stopped last, for plans ahead. Built while servers write to the
-- table. An interrupted attempt leaves an invalid index.
DROP INDEX CONCURRENTLY IF EXISTS workspace_builds_stopped;
CREATE INDEX CONCURRENTLY workspace_builds_stopped ON workspace_builds (created_at DESC) WHERE current AND transition = 'stop';
