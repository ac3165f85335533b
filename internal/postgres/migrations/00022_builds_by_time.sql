-- +goose NO TRANSACTION
-- +goose Up

-- Finds the builds of a period, for costs by day. Built while servers write to the table.
-- An interrupted attempt leaves an invalid index.
DROP INDEX CONCURRENTLY IF EXISTS workspace_builds_created;
CREATE INDEX CONCURRENTLY workspace_builds_created ON workspace_builds (created_at);
