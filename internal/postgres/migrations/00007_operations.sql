-- +goose Up

-- When a provisioner ended its last connection by itself. last_seen_at is set
-- back then, so that servers of any version treat it as offline at once.
ALTER TABLE provisioner_daemons ADD COLUMN left_at timestamptz;

-- The oldest schema version whose servers can use this schema, and the server that
-- upgraded it last. A migration that takes away what earlier servers need, one
-- version after a migration that replaced it, raises oldest_version.
CREATE TABLE schema_compatibility (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    oldest_version bigint NOT NULL,
    migrated_by    text NOT NULL DEFAULT ''
);
INSERT INTO schema_compatibility (oldest_version) VALUES (1);
