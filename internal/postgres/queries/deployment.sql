-- name: EnsureDeployment :one
INSERT INTO deployment (id) VALUES (true)
ON CONFLICT (id) DO UPDATE SET id = true
RETURNING uuid;

-- name: EnsureSecret :one
-- Returns the secret of that name; stores the given value if there is none.
INSERT INTO secrets (name, value, key_id) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING value, key_id;

-- name: EnsureDefaultOrganization :one
INSERT INTO organizations (id, name, display_name, is_default, created_at, updated_at, provisioner_weight)
VALUES ($1, 'coder', 'Coder', true, $2, $2, 1)
ON CONFLICT (is_default) WHERE is_default DO UPDATE SET is_default = true
RETURNING id;

-- name: Clock :one
-- The time of the database.
SELECT clock_timestamp()::timestamptz AS now;
