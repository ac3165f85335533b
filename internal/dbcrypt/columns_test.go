package dbcrypt_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// columnsFile classifies every column that can contain a secret: one that is not a
// number, time, boolean, address or plain UUID. Each of its lines is a table, a class and columns:
//
//	sealed  encrypted by this package
//	hash    a hash of a secret; the secret itself is not stored
//	clear   possibly a secret, and stored as it is; the comment states why
//	plain   not secret
const columnsFile = "testdata/columns.txt"

// classified returns the class of each column of columnsFile, by "table.column".
func classified(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(columnsFile)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		entry, reason, _ := strings.Cut(strings.TrimSpace(line), "#")
		fields := strings.Fields(entry)
		if len(fields) == 0 {
			continue
		}
		if len(fields) < 3 || !slices.Contains([]string{"sealed", "hash", "clear", "plain"}, fields[1]) {
			t.Errorf("%q is not a table, a class and columns", line)
			continue
		}
		if fields[1] == "clear" && strings.TrimSpace(reason) == "" {
			t.Errorf("%s: a secret in clear needs a reason", entry)
		}
		for _, column := range fields[2:] {
			name := fields[0] + "." + column
			if out[name] != "" {
				t.Errorf("%s is classified twice", name)
			}
			out[name] = fields[1]
		}
	}
	return out
}

// ofSchema returns the columns of the schema that can contain a secret, with their types.
func ofSchema(t *testing.T, store *postgres.Store) map[string]string {
	t.Helper()
	rows, err := store.Pool().Query(t.Context(), `SELECT c.table_name || '.' || c.column_name, c.data_type
		FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
		WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND t.table_name <> 'goose_db_version'
			AND (c.data_type = 'uuid' AND c.column_name ~ 'token|secret|password' OR c.data_type NOT IN ('bigint', 'integer', 'smallint', 'real', 'double precision', 'boolean', 'uuid', 'inet', 'timestamp with time zone', 'date', 'interval', 'tsvector'))`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			t.Fatal(err)
		}
		out[name] = kind
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// digestColumn returns the column with the digest of the key of a sealed column.
func digestColumn(column string, schema map[string]string) string {
	table, name, _ := strings.Cut(column, ".")
	for _, c := range []string{name + "_key_id", "key_id"} {
		if schema[table+"."+c] != "" {
			return c
		}
	}
	return ""
}

// TestEveryColumnIsClassified checks that columnsFile states of each column that can contain
// a secret whether it is encrypted.
func TestEveryColumnIsClassified(t *testing.T) {
	schema, classes := ofSchema(t, postgrestest.New(t)), classified(t)
	for column, kind := range schema {
		switch classes[column] {
		case "":
			t.Errorf("%s (%s) is not in %s: classify it, and encrypt it if it is a secret", column, kind, columnsFile)
		case "sealed":
			if digestColumn(column, schema) == "" {
				t.Errorf("%s is sealed without the digest of a key beside it", column)
			}
		case "hash":
			if kind != "bytea" && !strings.HasSuffix(column, "_hash") {
				t.Errorf("%s (%s) does not look like a hash", column, kind)
			}
		}
	}
	for column := range classes {
		if schema[column] == "" {
			t.Errorf("%s is in %s but not in the schema", column, columnsFile)
		}
	}
}

// TestRotationMissesNoColumn checks that the deployment of these tests has a value in every
// sealed column, and that rotation, decryption and the deletion after a loss of the key reach
// all of them.
func TestRotationMissesNoColumn(t *testing.T) {
	ctx, first, second := t.Context(), newKey(), newKey()
	d := encrypted(t, open(t, first))
	schema, classes := ofSchema(t, d.store), classified(t)
	check := func(when, digest string) {
		t.Helper()
		for column, class := range classes {
			if class != "sealed" {
				continue
			}
			table, name, _ := strings.Cut(column, ".")
			digests := digestColumn(column, schema)
			var with, others int
			must(t, d.store.Pool().QueryRow(ctx, fmt.Sprintf(`SELECT count(*) FILTER (WHERE %[1]s = $1), count(*) FILTER (WHERE %[1]s <> $1) FROM %[2]s WHERE length(%[3]s::text) > 2`, digests, table, name), digest).Scan(&with, &others))
			if with == 0 || others > 0 {
				t.Errorf("%s: %s has %d values under the key %q and %d others", when, column, with, digest, others)
			}
		}
	}
	digestOf := func(key string) string {
		_, digest := open(t, key).SealText("", "x")
		return digest
	}
	check("encrypted", digestOf(first))
	_, err := open(t, second, first).Rotate(ctx, d.store)
	must(t, err)
	check("rotated", digestOf(second))
	_, err = open(t, second).Decrypt(ctx, d.store)
	must(t, err)
	check("decrypted", "")
	_, err = open(t, first).Rotate(ctx, d.store)
	must(t, err)
	check("encrypted again", digestOf(first))
	_, err = dbcrypt.Delete(ctx, d.store)
	must(t, err)
	for column, class := range classes {
		if class != "sealed" {
			continue
		}
		table, _, _ := strings.Cut(column, ".")
		var left int
		must(t, d.store.Pool().QueryRow(ctx, fmt.Sprintf(`SELECT count(*) FROM %s WHERE %s <> ''`, table, digestColumn(column, schema))).Scan(&left))
		if left > 0 {
			t.Errorf("%d encrypted values of %s are left after the key was lost", left, column)
		}
	}
}
