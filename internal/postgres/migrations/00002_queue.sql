-- +goose Up

-- Provisioner keys: one current key under a name and any number that it
-- replaced, which are good until they expire.
ALTER TABLE provisioner_keys
    ADD COLUMN expires_at   timestamptz, -- null for never
    ADD COLUMN replaced_at  timestamptz, -- null for the current one
    ADD COLUMN last_used_at timestamptz, -- to about a minute
    ADD CHECK (replaced_at IS NULL OR expires_at IS NOT NULL);
DROP INDEX provisioner_keys_name;
CREATE UNIQUE INDEX provisioner_keys_name ON provisioner_keys (organization_id, lower(name)) WHERE replaced_at IS NULL;

-- How long jobs of a tag set took lately.
CREATE INDEX provisioner_jobs_done ON provisioner_jobs (tag_set_id, completed_at DESC) WHERE completed_at IS NOT NULL AND started_at IS NOT NULL;

-- The id that a job's input has under a key; null for what is no id, so that
-- one spoiled job does not keep all others from being read.
CREATE FUNCTION provisioner_job_input_id(input jsonb, key text) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    'SELECT CASE WHEN input ->> key ~ ''^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$'' THEN (input ->> key)::uuid END';
