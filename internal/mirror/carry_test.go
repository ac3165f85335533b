package mirror_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/mirror"
	"github.com/seed-2a7f8fe7/coder/internal/mirror/registrytest"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

// template inserts a template whose active version has the source.
func template(t *testing.T, store *postgres.Store, name string, files map[string]string) {
	t.Helper()
	ctx := t.Context()
	tx, err := store.Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // committed below
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := tx.Exec(ctx, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	id, job, version, file, user := uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()
	exec(`INSERT INTO organizations (id, name, created_at, updated_at) VALUES (gen_random_uuid(), 'coder', now(), now()) ON CONFLICT DO NOTHING`)
	exec(`INSERT INTO users (id, email, username, login_type, status, created_at, updated_at) VALUES ($1, $2, $3, 'none', 'active', now(), now())`, user, name+"@example.com", name)
	exec(`INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ($1, $2, $3, 'application/x-tar', $4, now())`, file, name, user, testtar.Of(t, files))
	exec(`INSERT INTO job_tag_sets (organization_id, key, tags) SELECT id, $1, '{}' FROM organizations LIMIT 1`, name)
	exec(`INSERT INTO provisioner_jobs (id, organization_id, initiator_id, type, provisioner, tag_set_id, file_id, input, created_at, updated_at)
		SELECT $1, o.id, $2, 'template_version_import', 'terraform', s.id, $3, '{}', now(), now() FROM organizations o, job_tag_sets s WHERE s.key = $4 LIMIT 1`, job, user, file, name)
	exec(`INSERT INTO templates (id, organization_id, name, provisioner, active_version_id, created_by, created_at, updated_at)
		SELECT $1, id, $2, 'terraform', $3, $4, now(), now() FROM organizations LIMIT 1`, id, name, version, user)
	exec(`INSERT INTO template_versions (id, template_id, organization_id, job_id, name, created_by, created_at, updated_at)
		SELECT $1, $2, id, $3, 'v1', $4, now(), now() FROM organizations LIMIT 1`, version, id, job, user)
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

func needs(t *testing.T, s *mirror.Service) (lines []string, list []providermirror.Need) {
	t.Helper()
	list, err := s.Needs(t.Context(), access.System(), "", []providermirror.Platform{{OS: "linux", Arch: "amd64"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list {
		lines = append(lines, fmt.Sprintf("%s %s stored=%v locked=%v %q %s %s", n.Type, n.Version, n.Stored, n.Locked, n.Constraints, strings.Join(n.Templates, " "), n.Problem))
	}
	return lines, list
}

func TestNeeds(t *testing.T) {
	r, store := registrytest.New(t), postgrestest.New(t)
	s := replica(t, store, r, large)
	for _, v := range []string{"1.0.0", "1.2.0", "2.0.0", "2.1.0-beta"} {
		r.Add(t, archive("one", v), "program", 0)
	}
	block := func(constraint string) string {
		return "terraform {\n  required_providers {\n    one = {\n      source  = \"acme/one\"\n      version = \"" + constraint + "\"\n    }\n  }\n}\n"
	}
	template(t, store, "any", map[string]string{"main.tf": strings.Replace(block("x"), "version = \"x\"", "", 1)})
	template(t, store, "old", map[string]string{"main.tf": block("~> 1.0")})
	template(t, store, "same", map[string]string{"main.tf": block(">= 1.1, < 2.0")})
	template(t, store, "locked", map[string]string{"main.tf": block(">= 1.0"), ".terraform.lock.hcl": "provider \"registry.terraform.io/acme/one\" {\n  version = \"1.0.0\"\n}\n"})
	template(t, store, "none", map[string]string{"main.tf": block("~> 9.0")})
	template(t, store, "broken", map[string]string{"main.tf": "{"})
	read(t, s, archive("one", "1.2.0"))

	got, list := needs(t, s)
	const org = "coder/"
	want := []string{
		`one  stored=false locked=false "~> 9.0" ` + org + `none no version fulfills the constraints`,
		`one 1.0.0 stored=false locked=true ">= 1.0" ` + org + `locked `,
		`one 1.2.0 stored=true locked=false "~> 1.0, >= 1.1, < 2.0" ` + org + `old ` + org + `same `,
		`one 2.0.0 stored=false locked=false "" ` + org + `any `,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, n := range list {
		if n.Problem != "" {
			continue
		}
		if _, err := s.Pull(t.Context(), access.System(), providermirror.PullRequest{Target: n.Target}); err != nil {
			t.Fatal(err)
		}
	}
	// Without the registry, the stored versions are those to choose from.
	r.SetDown(true)
	got, _ = needs(t, replica(t, store, r, large))
	want[0] = strings.Replace(want[0], "no version fulfills the constraints", "its registry cannot be reached", 1)
	for i := range want {
		want[i] = strings.Replace(want[i], "stored=false", fmt.Sprintf("stored=%v", i > 0), 1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExportAndImport(t *testing.T) {
	r, store := registrytest.New(t), postgrestest.New(t)
	s := replica(t, store, r, large)
	one, two := archive("one", "1.0.0"), archive("two", "2.0.0")
	data := map[providermirror.Target][]byte{one: r.Add(t, one, "program", 2<<20), two: r.Add(t, two, "program", 100)}
	if err := s.Export(t.Context(), access.System(), io.Discard); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("export of nothing: %v", err)
	}
	read(t, s, one)
	read(t, s, two)
	var file bytes.Buffer
	if err := s.Export(t.Context(), access.System(), &file); err != nil {
		t.Fatal(err)
	}

	r.SetDown(true)
	carried := postgrestest.New(t)
	there := replica(t, carried, r, large)
	out, err := there.Import(t.Context(), access.System(), bytes.NewReader(file.Bytes()))
	if err != nil || len(out.Stored) != 2 || out.Known != 0 {
		t.Fatalf("got %+v, %v", out, err)
	}
	for target, want := range data {
		if got := read(t, there, target); !bytes.Equal(got, want) {
			t.Errorf("%s differs", target)
		}
	}
	again, err := there.Import(t.Context(), access.System(), bytes.NewReader(file.Bytes()))
	if err != nil || len(again.Stored) != 0 || again.Known != 2 {
		t.Errorf("got %+v, %v", again, err)
	}

	poisoned := bytes.Clone(file.Bytes())
	at := bytes.Index(poisoned, data[one][1<<20:1<<20+64])
	poisoned[at] ^= 1
	empty := replica(t, postgrestest.New(t), r, large)
	if _, err := empty.Import(t.Context(), access.System(), bytes.NewReader(poisoned)); !codersdk.Is(err, codersdk.CodePrecondition) || !strings.Contains(err.Error(), "is refused") {
		t.Errorf("a changed file: %v", err)
	}
	if _, err := empty.Import(t.Context(), access.System(), bytes.NewReader(file.Bytes()[:file.Len()/2])); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("a cut file: %v", err)
	}
	if names, _ := list(t, empty); len(names) != 0 {
		t.Errorf("stored %v", names)
	}
	if _, err := empty.Import(t.Context(), access.System(), strings.NewReader("no tar")); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Errorf("no tar: %v", err)
	}
	if _, err := empty.Import(t.Context(), access.Subject{}, bytes.NewReader(file.Bytes())); err == nil {
		t.Error("anyone can import")
	}

	// The same release with other bytes does not replace what is stored.
	r.SetDown(false)
	other := replica(t, postgrestest.New(t), r, large)
	r.Add(t, one, "another program", 100)
	read(t, other, one)
	if _, err := other.Import(t.Context(), access.System(), bytes.NewReader(file.Bytes())); !codersdk.Is(err, codersdk.CodePrecondition) {
		t.Errorf("another archive of the same name: %v", err)
	}

	// An archive that was damaged in the database is not exported.
	if _, err := carried.Pool().Exec(t.Context(), "DELETE FROM mirror_chunks WHERE number = 1"); err != nil {
		t.Fatal(err)
	}
	if err := there.Export(context.WithoutCancel(t.Context()), access.System(), io.Discard); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("export of a damaged archive: %v", err)
	}
	if _, err := there.Import(t.Context(), access.System(), bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	if got := read(t, there, one); !bytes.Equal(got, data[one]) {
		t.Error("the import did not replace the damaged archive")
	}
}
