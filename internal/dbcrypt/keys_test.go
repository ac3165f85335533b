package dbcrypt_test

import (
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// deployment is a database with a value of each encrypted column.
type deployment struct {
	t                                               *testing.T
	store                                           *postgres.Store
	user, version, job, build, agent, token, secret uuid.UUID
}

// values are the secrets of a deployment in clear.
type values struct {
	access, refresh, signing, secret, ssh, state, variable, given, token, own, external, renewal, extra, plan string
}

var secrets = values{"access!", "refresh!", "signing!", "secret!", "ssh!", "state!", "variable!", "given!", "", "own!", "external!", "renewal!", "extra!", "plan!"}

func (d *deployment) exec(sql string, args ...any) {
	d.t.Helper()
	if _, err := d.store.Pool().Exec(d.t.Context(), sql, args...); err != nil {
		d.t.Fatal(err)
	}
}

// filled returns a database whose values were written with a Vault.
func filled(t *testing.T, v *dbcrypt.Vault) *deployment {
	t.Helper()
	d := &deployment{t: t, store: postgrestest.New(t), user: uuid.New(), version: uuid.New(), job: uuid.New(), build: uuid.New(), agent: uuid.New(), token: uuid.New(), secret: uuid.New()}
	ctx := t.Context()
	must(t, v.Admit(ctx, d.store))
	org, file, template, workspace, resource := uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()
	ssh, sshKey := v.SealSSHKey(d.user, secrets.ssh)
	vars, varsKey := v.SealVariables(d.version, []codersdk.TemplateVersionVariable{
		{Name: "password", Sensitive: true, Value: secrets.variable, DefaultValue: "default"}, {Name: "region", Value: "eu"}, {Name: "unset", Sensitive: true},
	})
	d.exec(`INSERT INTO organizations (id, name, created_at, updated_at) VALUES ($1, 'org', now(), now())`, org)
	d.exec(`INSERT INTO users (id, email, username, login_type, status, ssh_public_key, ssh_private_key, ssh_private_key_key_id, created_at, updated_at)
		VALUES ($1, 'a@x', 'a', 'oidc', 'active', 'public', $2, $3, now(), now())`, d.user, ssh, sshKey)
	s := v.SealTokens(sqlc.UserLink{UserID: d.user, LoginType: "oidc"}, dbcrypt.Tokens{Access: secrets.access, Refresh: secrets.refresh})
	d.exec(`INSERT INTO user_links (user_id, login_type, issuer, subject, access_token, access_token_key_id, refresh_token, refresh_token_key_id, created_at, updated_at)
		VALUES ($1, 'oidc', 'i', 's', $2, $3, $4, $5, now(), now())`, d.user, s.Access, s.AccessKey, s.Refresh, s.RefreshKey)
	sealed, digest := v.SealKey(sqlc.CryptoKey{Feature: "workspace_apps_token", Secret: []byte(secrets.signing)})
	d.exec(`INSERT INTO crypto_keys (feature, sequence, secret, secret_key_id, starts_at) VALUES ('workspace_apps_token', 1, $1, $2, now())`, sealed, digest)
	sealed, digest = v.SealSecret("logins", []byte(secrets.secret))
	d.exec(`INSERT INTO secrets (name, value, key_id) VALUES ('logins', $1, $2)`, sealed, digest)
	d.exec(`INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ($1, 'h', $2, 'application/x-tar', '', now())`, file, d.user)
	d.exec(`INSERT INTO job_tag_sets (organization_id, key, tags) VALUES ($1, 'k', '{}')`, org)
	d.exec(`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at)
		SELECT $1, $2, $3, 'workspace_build', 'echo', id, $4, '{}', now(), now() FROM job_tag_sets`, d.job, org, d.user, file)
	d.exec(`INSERT INTO template_versions (id, organization_id, job_id, name, created_by, variables, variables_key_id, created_at, updated_at)
		VALUES ($1, $2, $3, 'v', $4, $5, $6, now(), now())`, d.version, org, d.job, d.user, vars, varsKey)
	d.exec(`INSERT INTO templates (id, organization_id, name, provisioner, active_version_id, created_by, created_at, updated_at)
		VALUES ($1, $2, 't', 'echo', $3, $4, now(), now())`, template, org, d.version, d.user)
	d.exec(`INSERT INTO workspaces (id, organization_id, owner_id, template_id, name, created_at, updated_at, last_used_at)
		VALUES ($1, $2, $3, $4, 'w', now(), now(), now())`, workspace, org, d.user, template)
	d.exec(`INSERT INTO workspace_builds (id, workspace_id, template_version_id, build_number, transition, initiator_id, reason, job_id, created_at, updated_at)
		VALUES ($1, $2, $3, 1, 'start', $4, 'initiator', $5, now(), now())`, d.build, workspace, d.version, d.user, d.job)
	must(t, v.PutState(ctx, d.store.Queries, d.build, []byte(secrets.state), time.Now()))
	sealed, digest = v.SealPlan(workspace, []byte(secrets.plan))
	d.exec(`INSERT INTO workspace_plans (workspace_id, build_number, plan, plan_key_id, made_at) VALUES ($1, 1, $2, $3, now())`, workspace, sealed, digest)
	must(t, v.PutJobVariables(ctx, d.store.Queries, d.job, []codersdk.VariableValue{{Name: "password", Value: secrets.given}}))
	d.exec(`INSERT INTO workspace_resources (id, job_id, transition, type, name, created_at) VALUES ($1, $2, 'start', 'coder_external_agent', 'r', now())`, resource, d.job)
	d.exec(`INSERT INTO workspace_agents (id, resource_id, name, token_hash, operating_system, architecture, created_at, updated_at)
		VALUES ($1, $2, 'main', $3, 'linux', 'amd64', now(), now())`, d.agent, resource, dbcrypt.HashAgentToken(d.token))
	text, digest := v.SealAgentToken(d.agent, d.token)
	must(t, d.store.AgentKeepToken(ctx, d.agent, text, digest))
	own, digest, err := v.SealUserSecret(d.secret, secrets.own)
	if err != nil { // without keys, as after decryption
		own = secrets.own
	}
	d.exec(`INSERT INTO user_secrets (id, user_id, name, enabled, value, value_key_id, value_bytes, created_at, updated_at)
		VALUES ($1, $2, 'npm', false, $3, $4, 4, now(), now())`, d.secret, d.user, own, digest)
	l := sqlc.ExternalAuthLink{UserID: d.user, ProviderID: "github"}
	v.SealLink(&l, dbcrypt.LinkSecrets{Access: secrets.external, Refresh: secrets.renewal, Extra: secrets.extra})
	d.exec(`INSERT INTO external_auth_links (user_id, provider_id, access_token, access_token_key_id, refresh_token, refresh_token_key_id, extra, extra_key_id, issued_at, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now(), now(), now())`, l.UserID, l.ProviderID, l.AccessToken, l.AccessTokenKeyID, l.RefreshToken, l.RefreshTokenKeyID, l.Extra, l.ExtraKeyID)
	return d
}

// stored returns the columns as they are in the database, joined.
func (d *deployment) stored() (out string) {
	d.t.Helper()
	must(d.t, d.store.Pool().QueryRow(d.t.Context(), `SELECT concat_ws(' ',
		(SELECT access_token || ' ' || refresh_token FROM user_links), (SELECT string_agg(encode(secret, 'escape'), ' ') FROM crypto_keys),
		(SELECT string_agg(encode(value, 'escape'), ' ') FROM secrets), (SELECT ssh_private_key FROM users), (SELECT encode(state, 'escape') FROM workspace_build_states), (SELECT encode(plan, 'escape') FROM workspace_plans),
		(SELECT variables::text FROM template_versions), (SELECT value FROM provisioner_job_variables), (SELECT token FROM workspace_agent_tokens),
		(SELECT value FROM user_secrets), (SELECT concat_ws(' ', access_token, refresh_token, extra) FROM external_auth_links), (SELECT token::text FROM workspace_agents))`).Scan(&out))
	return out
}

// read returns the values that a Vault opens, and all errors.
func (d *deployment) read(v *dbcrypt.Vault) (got values, all error) {
	ctx, q := d.t.Context(), d.store.Queries
	check := func(err error) {
		if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
			all = errors.Join(all, err)
		}
	}
	link, err := q.LinkOfUser(ctx, d.user, "oidc")
	check(err)
	tokens, err := v.OpenTokens(link)
	check(err)
	got.access, got.refresh = tokens.Access, tokens.Refresh
	var k sqlc.CryptoKey
	if err := d.store.Pool().QueryRow(ctx, `SELECT feature, secret, secret_key_id FROM crypto_keys`).Scan(&k.Feature, &k.Secret, &k.SecretKeyID); err == nil {
		b, err := v.OpenKey(k)
		check(err)
		got.signing = string(b)
	}
	var secret []byte
	var digest string
	if err := d.store.Pool().QueryRow(ctx, `SELECT value, key_id FROM secrets`).Scan(&secret, &digest); err == nil {
		b, err := v.OpenSecret("logins", secret, digest)
		check(err)
		got.secret = string(b)
	}
	u, err := q.UserByID(ctx, d.user)
	check(err)
	got.ssh, err = v.OpenSSHKey(d.user, u.SshPrivateKey, u.SshPrivateKeyKeyID)
	check(err)
	b, err := q.BuildByID(ctx, d.build)
	check(err)
	state, err := v.StateUpTo(ctx, q, b.WorkspaceID, 1)
	check(err)
	got.state = string(state)
	var plan []byte
	if err := d.store.Pool().QueryRow(ctx, `SELECT plan, plan_key_id FROM workspace_plans`).Scan(&plan, &digest); err == nil {
		opened, err := v.OpenPlan(b.WorkspaceID, plan, digest)
		check(err)
		got.plan = string(opened)
	}
	version, err := q.VersionLock(ctx, d.version)
	check(err)
	vars, err := v.OpenVariables(d.version, version.Variables, version.VariablesKeyID)
	check(err)
	if vars != nil {
		got.variable = vars[0].Value
	}
	given, err := v.JobVariables(ctx, q, d.job)
	check(err)
	if len(given) > 0 {
		got.given = given[0].Value
	}
	row, err := q.AgentTokenForUpdate(ctx, d.agent)
	check(err)
	token, err := v.OpenAgentToken(d.agent, row.Token, row.Kept, row.KeyID)
	check(err)
	if token != nil {
		got.token = token.String()
	}
	rows, err := q.UserSecretsOfUser(ctx, d.user)
	check(err)
	if len(rows) > 0 {
		got.own, err = v.OpenUserSecret(rows[0].ID, rows[0].Value, rows[0].ValueKeyID)
		check(err)
	}
	var l sqlc.ExternalAuthLink
	if err := d.store.Pool().QueryRow(ctx, `SELECT user_id, provider_id, access_token, access_token_key_id, refresh_token, refresh_token_key_id, extra, extra_key_id FROM external_auth_links`).Scan(
		&l.UserID, &l.ProviderID, &l.AccessToken, &l.AccessTokenKeyID, &l.RefreshToken, &l.RefreshTokenKeyID, &l.Extra, &l.ExtraKeyID); err == nil {
		s, err := v.OpenLink(l)
		check(err)
		got.external, got.renewal, got.extra = s.Access, s.Refresh, s.Extra
	}
	return got, all
}

// holds checks that all values open with the Vault, and whether the database shows them.
func (d *deployment) holds(v *dbcrypt.Vault, plain bool) {
	d.t.Helper()
	want := secrets
	want.token = d.token.String()
	if got, err := d.read(v); err != nil || got != want {
		d.t.Errorf("opened as %+v, %v", got, err)
	}
	stored, fields := d.stored(), reflect.ValueOf(want)
	for i := range fields.NumField() {
		if secret := fields.Field(i).String(); strings.Contains(stored, secret) != plain {
			d.t.Errorf("%q is in the database: %t, want %t", secret, !plain, plain)
		}
	}
}

func refused(t *testing.T, err error, says ...string) {
	t.Helper()
	for _, s := range says {
		if !codersdk.Is(err, codersdk.CodePrecondition) || !strings.Contains(err.Error(), s) {
			t.Errorf("%v does not say %q", err, s)
		}
	}
}

// everything is the text of the counts of a deployment.
const everything = "1 tokens of identity providers, 1 links to external providers, 1 user secrets, 1 signing keys, 1 secrets of the deployment, 1 SSH keys of users, 1 Terraform states, " +
	"1 plans of workspaces, 1 template versions with sensitive variables, 1 variables of jobs, 1 agent tokens"

// TestLifeOfKeys: from no encryption to a key, to another, and back.
func TestLifeOfKeys(t *testing.T) {
	ctx, a, b := t.Context(), newKey(), newKey()
	d := filled(t, nil)
	one := open(t, a)
	must(t, one.Admit(ctx, d.store))
	d.holds(one, true) // values in clear stay readable

	if n, err := one.Rotate(ctx, d.store); err != nil || n.String() != everything {
		t.Fatalf("encrypted %s, %v", n, err)
	}
	d.holds(one, false)
	var none *dbcrypt.Vault
	_, digest := one.SealText("", "x")
	refused(t, none.Admit(ctx, d.store), digest, "--external-token-encryption-keys", "dbcrypt delete")
	refused(t, open(t, b).Admit(ctx, d.store), digest)
	must(t, open(t, b, a).Admit(ctx, d.store))

	if _, err := open(t, b).Rotate(ctx, d.store); err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Errorf("rotated without the old key: %v", err)
	}
	d.holds(one, false)
	if n, err := open(t, b, a).Rotate(ctx, d.store); err != nil || n.String() != everything {
		t.Errorf("rotated %s, %v", n, err)
	}
	two := open(t, b)
	d.holds(two, false)
	must(t, two.Admit(ctx, d.store)) // the old key is not needed
	refused(t, one.Admit(ctx, d.store))

	if _, err := one.Decrypt(ctx, d.store); err == nil {
		t.Error("decrypted with another key")
	}
	_, err := two.Decrypt(ctx, d.store)
	must(t, err)
	d.holds(none, true)
	must(t, none.Admit(ctx, d.store))
	must(t, one.Admit(ctx, d.store)) // an old key can be used again
	_, err = one.Rotate(ctx, d.store)
	must(t, err)
	refused(t, none.Admit(ctx, d.store), digest)
}

// encrypted returns a database that is encrypted with the Vault's key.
func encrypted(t *testing.T, v *dbcrypt.Vault) *deployment {
	t.Helper()
	must(t, v.Admit(t.Context(), postgrestest.New(t))) // ready for another database
	d := filled(t, v)
	d.holds(v, false)
	return d
}

// TestInterruptedRotation checks that a rotation that ended in the middle leaves all
// values readable, and can run again.
func TestInterruptedRotation(t *testing.T) {
	ctx, a, b := t.Context(), newKey(), newKey()
	d := encrypted(t, open(t, a))
	d.exec(`ALTER TABLE workspace_build_states ADD CONSTRAINT broken CHECK (length(state) = 0) NOT VALID`)
	both := open(t, b, a)
	if n, err := both.Rotate(ctx, d.store); err == nil || len(n) == 0 || !strings.Contains(err.Error(), "The Terraform states could not be changed") {
		t.Fatalf("%s, %v", n, err)
	}
	d.holds(both, false)
	must(t, both.Admit(ctx, d.store))
	refused(t, open(t, b).Admit(ctx, d.store), "does not have")
	d.exec(`ALTER TABLE workspace_build_states DROP CONSTRAINT broken`)
	_, err := both.Rotate(ctx, d.store)
	must(t, err)
	d.holds(open(t, b), false)
}

// TestLostKey checks that values of a lost key can be deleted.
func TestLostKey(t *testing.T) {
	ctx := t.Context()
	d := encrypted(t, open(t, newKey()))
	var none *dbcrypt.Vault
	refused(t, none.Admit(ctx, d.store), "does not have")
	if _, err := d.read(none); err == nil {
		t.Error("values open without the key")
	}
	if n, err := dbcrypt.Delete(ctx, d.store); err != nil || n.String() != everything {
		t.Fatalf("deleted %s, %v", n, err)
	}
	must(t, none.Admit(ctx, d.store))
	if got, err := d.read(none); err != nil || got != (values{variable: "default"}) {
		t.Errorf("left is %+v, %v", got, err)
	}
}

// TestEarlierServers checks that columns which earlier servers read in clear stay in
// clear until none of them ran for an hour, and are sealed then.
func TestEarlierServers(t *testing.T) {
	for name, create := range map[string]func([]string) (*dbcrypt.Vault, error){"configured key": dbcrypt.New, "generated key": dbcrypt.NewDeferred} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, d := t.Context(), filled(t, nil)
			d.exec(`UPDATE schema_compatibility SET oldest_version = 1`)
			d.exec(`UPDATE workspace_agents SET token = $1, token_hash = NULL`, d.token)
			d.exec(`DELETE FROM workspace_agent_tokens`)
			d.exec(`INSERT INTO replicas (id, hostname, version, started_at, updated_at) VALUES (gen_random_uuid(), 'old', 'v1', now(), now() - interval '59 minutes')`)
			v, err := create([]string{newKey()})
			must(t, err)
			must(t, v.Admit(ctx, d.store))
			if v.Ready() {
				t.Fatal("ready beside an earlier server")
			}
			if _, digest := v.SealSSHKey(d.user, "x"); digest != "" {
				t.Error("an SSH key is sealed beside an earlier server")
			}
			var none *dbcrypt.Vault
			if _, digest := v.SealText("here", "x"); (digest == "") != (name == "generated key") {
				t.Errorf("tokens are sealed with the key %q", digest)
			} else if err := none.Admit(ctx, d.store); (err == nil) != (digest == "") {
				t.Errorf("an earlier server without the key: %v", err)
			}
			d.holds(v, true)

			d.exec(`UPDATE replicas SET updated_at = now() - interval '61 minutes'`)
			must(t, v.Admit(ctx, d.store))
			var oldest int64
			must(t, d.store.Pool().QueryRow(ctx, `SELECT oldest_version FROM schema_compatibility`).Scan(&oldest))
			if !v.Ready() || oldest < 10 {
				t.Fatalf("ready: %t, oldest version %d", v.Ready(), oldest)
			}
			_, err = v.SealPlain(ctx, d.store)
			must(t, err)
			d.holds(v, false)
			if row, err := d.store.AgentTokenForUpdate(ctx, d.agent); err != nil || row.Token != nil {
				t.Errorf("the token is still in clear: %v, %v", row.Token, err)
			}
			if n, err := v.SealPlain(ctx, d.store); err != nil || len(n) > 0 {
				t.Errorf("sealed again: %s, %v", n, err)
			}
		})
	}
}

// TestKeeperStops checks that a Keeper without a database ends when it is stopped.
func TestKeeperStops(t *testing.T) {
	store := postgrestest.New(t)
	k := dbcrypt.NewKeeper(open(t, newKey()), store, slog.New(slog.DiscardHandler))
	store.Close()
	must(t, k.Start(t.Context()))
	must(t, k.Stop(t.Context()))
}
