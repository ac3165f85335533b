package database

import (
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Options declares the options of the group. A leading ~ in a path means home.
func (c *Config) Options(home string) []*option.Option {
	return slices.Concat(
		option.Under(
			"Database",
			option.String(&c.URL, "postgres-url", "PostgreSQL URL (default: start a built-in PostgreSQL)").Env("CODER_PG_CONNECTION_URL"),
			option.Choice(&c.Auth, "postgres-auth", "Authentication to PostgreSQL: the password of the URL, or AWS IAM tokens for Amazon RDS", "password",
				"awsiamrds").
				Env("CODER_PG_AUTH").
				YAML("pgAuth").
				Def("password"),
			option.Int(&c.MaxOpen, "postgres-conn-max-open", "Maximum number of open PostgreSQL connections").
				Env("CODER_PG_CONN_MAX_OPEN").
				YAML("pgConnMaxOpen").
				Def("10"),
			option.String(&c.MaxIdle, "postgres-conn-max-idle", "Maximum number of idle PostgreSQL connections; auto means a third of the open ones").
				Env("CODER_PG_CONN_MAX_IDLE").
				YAML("pgConnMaxIdle").
				Def("auto"),
			option.Path(&c.BinDir, home, "postgres-bin-dir", "Directory of the PostgreSQL binaries for the built-in PostgreSQL").
				Env("CODER_POSTGRES_BIN_DIR").
				Hide(),
		),
		option.After("oauth2-github-enterprise-base-url", option.Under(
			"Database",
			option.List(&c.EncryptionKeys, "external-token-encryption-keys",
				"Encryption keys for secrets in the database, base64, newest first; none turns encryption off").
				Env("CODER_EXTERNAL_TOKEN_ENCRYPTION_KEYS"),
		)...),
		option.After("prometheus-address", option.Under(
			"Observability",
			option.Bool(&c.QueryMetrics, "prometheus-collect-db-metrics", "Collect metrics of database queries and transactions").
				Env("CODER_PROMETHEUS_COLLECT_DB_METRICS").
				YAML("introspection.prometheus.collect_db_metrics").
				Def("false"),
		)...),
	)
}
