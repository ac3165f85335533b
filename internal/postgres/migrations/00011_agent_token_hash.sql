-- +goose NO TRANSACTION
-- +goose Up

-- Built while servers write to the table. An interrupted attempt leaves an invalid index.
DROP INDEX CONCURRENTLY IF EXISTS workspace_agents_token_hash;
CREATE INDEX CONCURRENTLY workspace_agents_token_hash ON workspace_agents (token_hash) WHERE token_hash IS NOT NULL;
