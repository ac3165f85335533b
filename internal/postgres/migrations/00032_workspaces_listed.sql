-- +goose NO TRANSACTION
-- +goose Up

-- The order of lists of workspaces. Built while servers write to the table. An interrupted attempt
-- leaves an invalid index.
DROP INDEX CONCURRENTLY IF EXISTS workspaces_listed;
CREATE INDEX CONCURRENTLY workspaces_listed ON workspaces (lower(owner_name), lower(name), id) WHERE deleted_at IS NULL;
