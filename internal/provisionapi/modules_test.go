package provisionapi_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	daemon "github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// hoarder is the echo engine, with sessions that keep modules by their hash.
type hoarder struct {
	echo.Engine
	mu    sync.Mutex
	files map[string][]byte
	used  int
	inits []string // the hash that each Init was given
}

type hoarderSession struct {
	provisioner.Session
	h *hoarder
}

func (h *hoarder) Open(ctx context.Context, c *provisioner.Config, log func(*provisioner.Log)) (provisioner.Session, error) {
	s, err := h.Engine.Open(ctx, c, log)
	return hoarderSession{s, h}, err
}

func (s hoarderSession) HasModules(hash []byte) bool {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	return s.h.files[string(hash)] != nil
}

func (s hoarderSession) UseModules(packed []byte) error {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.h.used++
	s.h.files[""] = packed
	return nil
}

func (s hoarderSession) Init(ctx context.Context, r *provisioner.InitRequest) (*provisioner.InitComplete, error) {
	s.h.mu.Lock()
	s.h.inits = append(s.h.inits, string(r.InitialModuleTarHash))
	if len(r.InitialModuleTarHash) > 0 {
		s.h.files[string(r.InitialModuleTarHash)] = s.h.files[""]
	}
	s.h.mu.Unlock()
	return s.Session.Init(ctx, r)
}

// TestModulesComeFromTheServer wants a cold daemon to fetch the modules that
// an import prepared, a warm one to use its own, and a build to go on without.
func TestModulesComeFromTheServer(t *testing.T) {
	h := newHouse(t, queue.Config{})
	modules := bytes.Repeat([]byte("0123456789"), 500_000) // three pieces
	file, imported := uuid.New(), h.add(t, codersdk.ProvisionerJobTypeTemplateVersionImport, nil)
	if _, err := h.store.Pool().Exec(t.Context(), `INSERT INTO files (id, hash, created_by, mimetype, data, created_at) VALUES ($1, 'm', $2, 'application/x-tar', $3, now())`, file, h.user, modules); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Pool().Exec(t.Context(), `INSERT INTO template_versions (id, organization_id, job_id, name, created_by, module_files_id, created_at, updated_at) VALUES ($1, $2, $3, 'v', $4, $5, now(), now())`,
		uuid.New(), h.org, imported, h.user, file); err != nil {
		t.Fatal(err)
	}
	e := &hoarder{files: map[string][]byte{}}
	d, err := daemon.New(daemon.Config{Dial: daemon.Pipe(h.serve), Name: "builtin", Engines: map[string]provisioner.Engine{"echo": e}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Stop(context.Background()) }) //nolint:errcheck // never fails
	h.ends(t, imported)
	for n, id := range []string{file.String(), file.String(), uuid.NewString(), ""} {
		job := h.addWith(t, id)
		if j, _ := h.ends(t, job); j.Status != codersdk.ProvisionerJobStatusSucceeded {
			t.Errorf("build %d is %s: %s", n, j.Status, j.Error)
		}
	}
	var got []string
	for _, hash := range e.inits {
		got = append(got, fmt.Sprint(len(hash)))
	}
	// The import, the cold build, the warm one, one whose file is gone, one without.
	if fmt.Sprint(got) != "[0 32 32 0 0]" || e.used != 1 || !bytes.Equal(e.files[""], modules) {
		t.Errorf("hashes of %v bytes, modules were sent %d times, %d bytes", got, e.used, len(e.files[""]))
	}
}
