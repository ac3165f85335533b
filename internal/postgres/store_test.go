package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

func TestErrorsCarryCodes(t *testing.T) {
	s := postgrestest.New(t)
	if _, err := s.EnsureDefaultOrganization(t.Context(), uuid.New(), time.Now()); err != nil {
		t.Fatal(err)
	}
	err := s.Tx(t.Context(), func(q *sqlc.Queries) error {
		_, err := q.EnsureSecret(t.Context(), "s", []byte("first"), "")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if row, err := s.EnsureSecret(t.Context(), "s", []byte("second"), ""); err != nil || string(row.Value) != "first" {
		t.Errorf("a secret that is there: %q, %v", row.Value, err)
	}
	raw := func(sql string) error {
		_, err := s.Pool().Exec(t.Context(), sql)
		return err
	}
	if err := raw("INSERT INTO organizations (id, name, created_at, updated_at) VALUES (gen_random_uuid(), 'CODER', now(), now())"); postgres.Constraint(err) != "organizations_name" {
		t.Errorf("names differ by case only: %v", err)
	}
}

// TestTxRunsAgain makes two transactions lose a race to each other.
func TestTxRunsAgain(t *testing.T) {
	s := postgrestest.New(t)
	if _, err := s.Pool().Exec(t.Context(), "CREATE TABLE counter AS SELECT 0 AS n"); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	runs := 0
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			err := s.Tx(t.Context(), func(q *sqlc.Queries) error {
				mu.Lock()
				runs++
				first := runs == 1
				mu.Unlock()
				if first {
					return serialization(t.Context(), s)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if runs != 5 {
		t.Errorf("four transactions, one of which lost a race, ran %d times", runs)
	}
}

// serialization returns a true serialization failure of PostgreSQL.
func serialization(ctx context.Context, s *postgres.Store) error {
	begin := func() pgx.Tx {
		tx, err := s.Pool().BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
		if err != nil {
			panic(err)
		}
		return tx
	}
	a, b := begin(), begin()
	defer a.Rollback(ctx) //nolint:errcheck // the other's commit made it fail
	for _, tx := range []pgx.Tx{a, b} {
		if _, err := tx.Exec(ctx, "SELECT sum(n) FROM counter"); err != nil {
			return err
		}
	}
	if _, err := b.Exec(ctx, "UPDATE counter SET n = n + 1"); err != nil {
		return err
	}
	if err := b.Commit(ctx); err != nil {
		return err
	}
	_, err := a.Exec(ctx, "UPDATE counter SET n = n + 1")
	return err
}

func TestTxKeepsTheErrorsOfItsFunction(t *testing.T) {
	s := postgrestest.New(t)
	mine := codersdk.Errorf(codersdk.CodeConflict, "mine")
	if err := s.Tx(t.Context(), func(*sqlc.Queries) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("got %v", err)
	}
	err := s.Tx(t.Context(), func(q *sqlc.Queries) error {
		if _, err := q.EnsureSecret(t.Context(), "undone", []byte("x"), ""); err != nil {
			return err
		}
		return mine
	})
	if !errors.Is(err, mine) {
		t.Fatal(err)
	}
	if row, err := s.EnsureSecret(t.Context(), "undone", []byte("y"), ""); err != nil || string(row.Value) != "y" {
		t.Errorf("what a failed transaction wrote is there: %q, %v", row.Value, err)
	}
}

func TestOpenSaysNoSecrets(t *testing.T) {
	for _, url := range []string{"postgres://u:hush@127.0.0.1:1/x?connect_timeout=1", "postgres://u:hush@[bad"} {
		if _, err := postgres.Open(t.Context(), postgres.Config{URL: url}); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v", err)
		}
	}
}

// TestMigrateTogether has several servers begin on one database at once.
func TestMigrateTogether(t *testing.T) {
	url := postgrestest.URL(t)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := postgres.Migrate(t.Context(), url); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
