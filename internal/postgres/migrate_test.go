package postgres_test

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// TestNewerSchemaIsRefusedUnlessCompatible checks what a server does with a schema
// that a newer server upgraded.
func TestNewerSchemaIsRefusedUnlessCompatible(t *testing.T) {
	for name, c := range map[string]struct{ sql, refused string }{
		"compatible":   {"INSERT INTO goose_db_version (version_id, is_applied) VALUES (9000, true)", ""},
		"incompatible": {"INSERT INTO goose_db_version (version_id, is_applied) VALUES (9000, true); UPDATE schema_compatibility SET oldest_version = 9000, migrated_by = 'v9.0.0'", "upgraded by v9.0.0 to schema version 9000, and this is " + codersdk.Version()},
		"unmarked":     {"INSERT INTO goose_db_version (version_id, is_applied) VALUES (9000, true); DROP TABLE schema_compatibility", "upgraded by a newer version to schema version 9000"},
		"the same":     {"SELECT", ""},
	} {
		url := postgrestest.URL(t)
		run(t, url, c.sql)
		err := postgres.Migrate(t.Context(), url)
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: got %v, want %q", name, err, c.refused)
		}
	}
}

// TestForeignDatabasesAreRefused checks that a database of the original product
// and one in another encoding are refused and not changed.
func TestForeignDatabasesAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ options, sql, refused string }{
		"of the original product": {"", "CREATE TABLE schema_migrations (version bigint PRIMARY KEY, dirty boolean NOT NULL); CREATE TABLE provisioner_jobs (id uuid); CREATE TABLE gitsshkeys (id uuid)", "belongs to another product"},
		"in Latin-1":              {"ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'", "SELECT", "has the encoding LATIN1, but UTF8 is required"},
		"without an encoding":     {"ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'", "SELECT", "has the encoding SQL_ASCII"},
	} {
		url := postgrestest.Empty(t, c.options)
		run(t, url, c.sql)
		if err := postgres.Migrate(t.Context(), url); err == nil || !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: got %v, want %q", name, err, c.refused)
		}
		s, err := postgres.Open(t.Context(), postgres.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		var changed bool
		if err := s.Pool().QueryRow(t.Context(), "SELECT to_regclass('goose_db_version') IS NOT NULL OR to_regclass('users') IS NOT NULL").Scan(&changed); err != nil || changed {
			t.Errorf("%s: the database was changed: %t, %v", name, changed, err)
		}
		s.Close()
	}
	if err := postgres.Migrate(t.Context(), postgrestest.Empty(t, "")); err != nil {
		t.Errorf("an empty database is refused: %v", err)
	}
}

func run(t *testing.T, url, sql string) {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Pool().Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}
