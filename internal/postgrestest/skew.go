package postgrestest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Skew sets the clock of a database ahead of the clock of this machine, or behind it
// if ahead is negative. The skew applies to new connections only. Code that compares
// a time of the database with a time of this machine then fails, as on a machine
// whose clock is wrong.
//
// Skew creates functions in the schema public that shadow those of PostgreSQL.
func Skew(t testing.TB, url string, ahead time.Duration) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background()) //nolint:errcheck // all statements have run
	functions := map[string]string{"now": "STABLE", "statement_timestamp": "STABLE", "transaction_timestamp": "STABLE", "clock_timestamp": "VOLATILE"}
	for name, volatility := range functions {
		sql := fmt.Sprintf(`CREATE OR REPLACE FUNCTION public.%[1]s() RETURNS timestamptz LANGUAGE sql %[2]s
			AS 'SELECT pg_catalog.%[1]s() + interval ''%[3]d seconds'''`, name, volatility, int(ahead.Seconds()))
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	const preferPublic = `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$`
	if _, err := conn.Exec(t.Context(), preferPublic); err != nil {
		t.Fatal(err)
	}
}

// NewSkewed is like New, but the clock of the database is skewed; see Skew.
func NewSkewed(t testing.TB, ahead time.Duration) *postgres.Store {
	t.Helper()
	url := URL(t)
	Skew(t, url, ahead)
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url, MaxOpen: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
