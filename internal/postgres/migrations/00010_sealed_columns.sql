-- +goose Up

-- Encryption of SSH keys, Terraform states, sensitive variables and secrets of the
-- deployment. Beside each value is the digest of its key, '' for a value in clear.
-- Servers before this schema version cannot read sealed values, so these columns are
-- sealed only after schema_compatibility.oldest_version was raised to this version.
ALTER TABLE users ADD COLUMN ssh_private_key_key_id text NOT NULL DEFAULT '';
ALTER TABLE workspace_build_states ADD COLUMN key_id text NOT NULL DEFAULT '';
ALTER TABLE template_versions ADD COLUMN variables_key_id text NOT NULL DEFAULT ''; -- of the values of sensitive variables
ALTER TABLE secrets ADD COLUMN key_id text NOT NULL DEFAULT '';

-- Values of template variables that were given with a job, until it ends.
CREATE TABLE provisioner_job_variables (
    job_id uuid PRIMARY KEY REFERENCES provisioner_jobs ON DELETE CASCADE,
    value  text NOT NULL, -- []codersdk.VariableValue
    key_id text NOT NULL
);

-- Agents are found by the SHA-256 of their token. The token itself is kept only for
-- servers before this schema version; and in workspace_agent_tokens if the server must
-- return it: for the claim of a prebuilt workspace, to a user who starts the agent, and
-- to an agent that proves its instance.
ALTER TABLE workspace_agents ADD COLUMN token_hash bytea;
CREATE TABLE workspace_agent_tokens (
    agent_id uuid PRIMARY KEY REFERENCES workspace_agents ON DELETE CASCADE,
    token    text NOT NULL,
    key_id   text NOT NULL
);

-- The column token is an identifier: the token itself only for servers before this
-- schema version, which do not write the hash.
ALTER TABLE pending_agents ADD COLUMN token_hash bytea;
UPDATE pending_agents SET token_hash = sha256(convert_to(token::text, 'UTF8'));
CREATE UNIQUE INDEX pending_agents_hash ON pending_agents (token_hash);
-- +goose StatementBegin
CREATE FUNCTION pending_agent_hash() RETURNS trigger LANGUAGE plpgsql AS '
BEGIN
    NEW.token_hash := coalesce(NEW.token_hash, sha256(convert_to(NEW.token::text, ''UTF8'')));
    RETURN NEW;
END';
-- +goose StatementEnd
CREATE TRIGGER pending_agent_hash BEFORE INSERT ON pending_agents FOR EACH ROW EXECUTE FUNCTION pending_agent_hash();

-- The newest schema version that a replica knows; 0 for servers before this version.
ALTER TABLE replicas ADD COLUMN schema_version bigint NOT NULL DEFAULT 0;
