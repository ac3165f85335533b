-- Encrypted values in the database, and their keys. The queries of values return those
-- whose key is not @digest; with @plain only those in clear.

-- name: DbcryptKeys :many
-- The required keys, locked until the transaction ends, so that none is added or removed.
SELECT * FROM dbcrypt_keys WHERE revoked_at IS NULL ORDER BY created_at, digest FOR UPDATE;

-- name: DbcryptRegister :exec
INSERT INTO dbcrypt_keys (digest, test) VALUES (@digest, @test)
ON CONFLICT (digest) DO UPDATE SET test = excluded.test, revoked_at = NULL WHERE dbcrypt_keys.revoked_at IS NOT NULL;

-- name: DbcryptRevoke :exec
-- Removes all keys but one.
UPDATE dbcrypt_keys SET revoked_at = now() WHERE revoked_at IS NULL AND digest <> @but::text;

-- name: SchemaOldest :one
-- The oldest schema version whose servers can use this database.
SELECT oldest_version FROM schema_compatibility;

-- name: SchemaRaise :execrows
-- Raises the oldest version, unless a server of an earlier version ran in the last hour.
UPDATE schema_compatibility SET oldest_version = @version
WHERE oldest_version < @version AND NOT EXISTS (
    SELECT FROM replicas WHERE schema_version < @version AND updated_at > now() - interval '1 hour');

-- name: DbcryptLinks :many
SELECT * FROM user_links
WHERE (access_token <> '' AND access_token_key_id <> @digest::text AND (NOT @plain::boolean OR access_token_key_id = ''))
    OR (refresh_token <> '' AND refresh_token_key_id <> @digest::text AND (NOT @plain::boolean OR refresh_token_key_id = ''))
ORDER BY user_id, login_type LIMIT 100 FOR UPDATE;

-- name: DbcryptSetTokens :exec
UPDATE user_links SET access_token = @access_token, access_token_key_id = @access_token_key_id,
    refresh_token = @refresh_token, refresh_token_key_id = @refresh_token_key_id
WHERE user_id = @user_id AND login_type = @login_type;

-- name: DbcryptDropTokens :execrows
UPDATE user_links SET access_token = '', access_token_key_id = '', refresh_token = '', refresh_token_key_id = ''
WHERE access_token_key_id <> '' OR refresh_token_key_id <> '';

-- name: DbcryptSigningKeys :many
SELECT * FROM crypto_keys
WHERE secret_key_id <> @digest::text AND (NOT @plain::boolean OR secret_key_id = '')
ORDER BY feature, sequence LIMIT 100 FOR UPDATE;

-- name: DbcryptSetKey :exec
UPDATE crypto_keys SET secret = @secret, secret_key_id = @secret_key_id WHERE feature = @feature AND sequence = @sequence;

-- name: DbcryptDropKeys :execrows
DELETE FROM crypto_keys WHERE secret_key_id <> '';

-- name: DbcryptSecrets :many
SELECT name, value, key_id FROM secrets
WHERE key_id <> @digest::text AND (NOT @plain::boolean OR key_id = '')
ORDER BY name LIMIT 100 FOR UPDATE;

-- name: DbcryptSetSecret :exec
UPDATE secrets SET value = @value, key_id = @key_id WHERE name = @name;

-- name: DbcryptDropSecrets :execrows
DELETE FROM secrets WHERE key_id <> '';

-- name: DbcryptSSHKeys :many
SELECT id, ssh_private_key, ssh_private_key_key_id FROM users
WHERE id > @after AND ssh_private_key <> ''
    AND ssh_private_key_key_id <> @digest::text AND (NOT @plain::boolean OR ssh_private_key_key_id = '')
ORDER BY id LIMIT 100 FOR UPDATE;

-- name: DbcryptSetSSHKey :exec
UPDATE users SET ssh_private_key = @ssh_private_key, ssh_private_key_key_id = @ssh_private_key_key_id WHERE id = @id;

-- name: DbcryptDropSSHKeys :execrows
UPDATE users SET ssh_private_key = '', ssh_private_key_key_id = '', ssh_public_key = '' WHERE ssh_private_key_key_id <> '';

-- name: DbcryptStates :many
SELECT build_id, state, key_id FROM workspace_build_states
WHERE build_id > @after AND octet_length(state) > 0 AND key_id <> @digest::text AND (NOT @plain::boolean OR key_id = '')
ORDER BY build_id LIMIT 20 FOR UPDATE;

-- name: DbcryptSetState :exec
UPDATE workspace_build_states SET state = @state, key_id = @key_id WHERE build_id = @build_id;

-- name: DbcryptDropStates :execrows
-- Empties states; a deleted row would bring back the state of an earlier build.
UPDATE workspace_build_states SET state = '', key_id = '' WHERE key_id <> '';

-- name: DbcryptVariables :many
SELECT id, variables, variables_key_id FROM template_versions
WHERE id > @after AND variables @> '[{"sensitive": true}]'
    AND variables_key_id <> @digest::text AND (NOT @plain::boolean OR variables_key_id = '')
ORDER BY id LIMIT 100 FOR UPDATE;

-- name: DbcryptSetVariables :exec
UPDATE template_versions SET variables = @variables, variables_key_id = @variables_key_id WHERE id = @id;

-- name: DbcryptJobVariables :many
SELECT job_id, value, key_id FROM provisioner_job_variables
WHERE job_id > @after AND key_id <> @digest::text AND (NOT @plain::boolean OR key_id = '')
ORDER BY job_id LIMIT 100 FOR UPDATE;

-- name: DbcryptSetJobVariables :exec
UPDATE provisioner_job_variables SET value = @value, key_id = @key_id WHERE job_id = @job_id;

-- name: DbcryptDropJobVariables :execrows
DELETE FROM provisioner_job_variables WHERE key_id <> '';

-- name: DbcryptAgentTokens :many
SELECT agent_id, token, key_id FROM workspace_agent_tokens
WHERE agent_id > @after AND key_id <> @digest::text AND (NOT @plain::boolean OR key_id = '')
ORDER BY agent_id LIMIT 100 FOR UPDATE;

-- name: DbcryptSetAgentToken :exec
UPDATE workspace_agent_tokens SET token = @token, key_id = @key_id WHERE agent_id = @agent_id;

-- name: DbcryptDropAgentTokens :execrows
DELETE FROM workspace_agent_tokens WHERE key_id <> '';

-- name: DbcryptHashAgentTokens :execrows
-- Replaces tokens in clear by hashes. Those that the server must return are kept; see
-- workspace_agent_tokens.
WITH batch AS (
    SELECT a.id, a.token, (a.instance_id <> '' OR r.type = 'coder_external_agent'
        OR EXISTS (SELECT FROM workspace_builds b WHERE b.job_id = r.job_id AND b.initiator_id = '9d3c2a41-5e07-4b68-8f1d-707265626c64')) AS needed
    FROM workspace_agents a JOIN workspace_resources r ON r.id = a.resource_id
    WHERE a.token IS NOT NULL
    LIMIT 500 FOR UPDATE OF a
), kept AS (
    INSERT INTO workspace_agent_tokens (agent_id, token, key_id)
    SELECT id, token::text, '' FROM batch WHERE needed
    ON CONFLICT (agent_id) DO NOTHING
)
UPDATE workspace_agents a SET token_hash = sha256(convert_to(batch.token::text, 'UTF8')), token = NULL
FROM batch WHERE a.id = batch.id;

-- name: DbcryptScrubJobs :execrows
-- Removes the values of variables from finished jobs of servers that stored them there.
UPDATE provisioner_jobs SET input = input - 'user_variable_values'
WHERE id IN (
    SELECT j.id FROM provisioner_jobs j
    WHERE j.type <> 'workspace_build' AND j.completed_at IS NOT NULL AND jsonb_exists(j.input, 'user_variable_values')
    LIMIT 100);

-- name: DbcryptForgetJobVariables :execrows
-- Deletes the values of variables of finished jobs.
DELETE FROM provisioner_job_variables v USING provisioner_jobs j WHERE j.id = v.job_id AND j.completed_at IS NOT NULL;

-- name: JobVariablesPut :exec
INSERT INTO provisioner_job_variables (job_id, value, key_id) VALUES ($1, $2, $3);

-- name: JobVariables :one
SELECT value, key_id FROM provisioner_job_variables WHERE job_id = $1;

-- name: JobVariablesDelete :exec
DELETE FROM provisioner_job_variables WHERE job_id = $1;

-- name: DbcryptPlans :many
SELECT workspace_id, plan, plan_key_id FROM workspace_plans
WHERE workspace_id > @after AND octet_length(plan) > 0 AND plan_key_id <> @digest::text AND (NOT @plain::boolean OR plan_key_id = '')
ORDER BY workspace_id LIMIT 20 FOR UPDATE;

-- name: DbcryptSetPlan :exec
UPDATE workspace_plans SET plan = @plan, plan_key_id = @plan_key_id WHERE workspace_id = @workspace_id;

-- name: DbcryptDropPlans :execrows
DELETE FROM workspace_plans WHERE plan_key_id <> '';
