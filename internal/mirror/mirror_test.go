package mirror_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/mirror"
	"github.com/seed-2a7f8fe7/coder/internal/mirror/registrytest"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/registry"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// replica returns the mirror of one server.
func replica(t *testing.T, store *postgres.Store, r *registrytest.Registry, limit int64) *mirror.Service {
	t.Helper()
	return service(t, mirror.Config{
		Store: store, Registry: registry.New(r.Transport(), time.Now), Upstreams: []string{providermirror.TerraformRegistry}, MaxBytes: limit,
	})
}

// service returns a mirror that is enabled.
func service(t *testing.T, c mirror.Config) *mirror.Service {
	t.Helper()
	c.Enable, c.Dir, c.Log, c.MaxBytes = true, t.TempDir(), cmp.Or(c.Log, slog.New(slog.DiscardHandler)), cmp.Or(c.MaxBytes, large)
	return mirror.New(c)
}

func archive(name, version string) providermirror.Target {
	return providermirror.Target{
		Address: providermirror.Address{Hostname: providermirror.TerraformRegistry, Namespace: "acme", Type: name},
		Version: version, Platform: providermirror.Platform{OS: "linux", Arch: "amd64"},
	}
}

// read returns the bytes that the mirror serves.
func read(t *testing.T, s *mirror.Service, target providermirror.Target) []byte {
	t.Helper()
	var b bytes.Buffer
	a, err := s.Open(t.Context(), target)
	if err == nil {
		err = a.WriteTo(t.Context(), &b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// list returns the names of the stored archives, and their size.
func list(t *testing.T, s *mirror.Service) (names []string, size int64) {
	t.Helper()
	all, err := s.List(t.Context(), access.System(), codersdk.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		names = append(names, p.Type+" "+p.Version)
		size += p.Size
	}
	return names, size
}

const large = 1 << 40

func TestArchivesAreFetchedOnce(t *testing.T) {
	r, store := registrytest.New(t), postgrestest.New(t)
	one := archive("one", "1.2.3")
	want := r.Add(t, one, "program", 3<<20+17) // several chunks, the last one not full
	s := replica(t, store, r, large)

	versions, err := s.Versions(t.Context(), one.Address)
	if _, ok := versions.Versions["1.2.3"]; err != nil || !ok {
		t.Fatalf("got %v, %v", versions, err)
	}
	before, err := s.Archives(t.Context(), one.Address, "1.2.3")
	if err != nil || len(before.Archives["linux_amd64"].Hashes) != 1 || !strings.HasPrefix(before.Archives["linux_amd64"].Hashes[0], "zh:") {
		t.Fatalf("got %v, %v", before, err)
	}
	if got := read(t, s, one); !bytes.Equal(got, want) {
		t.Fatalf("got %d bytes that differ", len(got))
	}
	// Another replica serves it with no way to the registry, under its own hashes too.
	r.SetDown(true)
	other := replica(t, store, r, large)
	if got := read(t, other, one); !bytes.Equal(got, want) {
		t.Fatalf("the other replica serves %d bytes that differ", len(got))
	}
	if n := r.Archives.Load(); n != 1 {
		t.Errorf("%d downloads", n)
	}
	if versions, err = other.Versions(t.Context(), one.Address); err != nil || len(versions.Versions) != 1 {
		t.Errorf("without the registry: %v, %v", versions, err)
	}
	after, err := other.Archives(t.Context(), one.Address, "1.2.3")
	if hashes := after.Archives["linux_amd64"].Hashes; err != nil || len(hashes) != 2 || !strings.HasPrefix(hashes[0], "h1:") || hashes[1] != before.Archives["linux_amd64"].Hashes[0] {
		t.Errorf("without the registry: %v, %v", after, err)
	}
	if _, err := other.Open(t.Context(), archive("two", "1.0.0")); !codersdk.Is(err, codersdk.CodeUnavailable) || !strings.Contains(err.Error(), "coder mirror import") {
		t.Errorf("an archive that is not stored: %v", err)
	}
	list, err := other.List(t.Context(), access.System(), codersdk.Page{Limit: 10})
	if err != nil || len(list) != 1 || list[0].Size != int64(len(want)) || list[0].SignedBy == "" {
		t.Errorf("got %+v, %v", list, err)
	}
}

func TestUnknownRegistriesAreNotAsked(t *testing.T) {
	r, store := registrytest.New(t), postgrestest.New(t)
	s := replica(t, store, r, large)
	other := archive("one", "1.0.0")
	other.Hostname = "registry.example.com"
	r.Add(t, other, "program", 0)
	if _, err := s.Open(t.Context(), other); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Error(err)
	}
	if _, err := s.Versions(t.Context(), other.Address); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Error(err)
	}
	if n := r.Requests.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestPoisonedArchivesAreRefused(t *testing.T) {
	r, store := registrytest.New(t), postgrestest.New(t)
	one, two := archive("one", "1.0.0"), archive("two", "1.0.0")
	good := r.Add(t, one, "good", 2<<20)
	s := replica(t, store, r, large)

	evil := bytes.Clone(good)
	evil[len(evil)/2] ^= 1
	r.Poison(one, evil)
	refused := func(what string, err error) {
		t.Helper()
		if !codersdk.Is(err, codersdk.CodePrecondition) || !strings.Contains(err.Error(), "is refused") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := s.Open(t.Context(), one)
	refused("other bytes than the checksum", err)
	if names, _ := list(t, s); len(names) != 0 {
		t.Errorf("stored %v", names)
	}
	r.Poison(one, nil)
	if got := read(t, s, one); !bytes.Equal(got, good) {
		t.Fatal("the good archive is not served")
	}

	// A stored archive that changed in the database.
	if _, err := store.Pool().Exec(t.Context(), "UPDATE mirror_chunks SET data = set_byte(data, 7, get_byte(data, 7) # 1) WHERE number = 1"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Open(t.Context(), one)
	refused("a changed chunk", err)
	if _, err := s.Pull(t.Context(), access.System(), providermirror.PullRequest{Target: one}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, one); !bytes.Equal(got, good) {
		t.Fatal("pull did not replace the damaged archive")
	}
	if _, err := store.Pool().Exec(t.Context(), "DELETE FROM mirror_chunks WHERE number = 1"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Open(t.Context(), one)
	refused("a missing chunk", err)

	// A registry that states another checksum than that of the stored archive.
	r.Add(t, one, "replaced", 100)
	_, err = s.Archives(t.Context(), one.Address, one.Version)
	refused("a release that was replaced", err)

	r.Add(t, two, "good", 100)
	r.Forge(t)
	_, err = s.Open(t.Context(), two)
	refused("a signature of another key", err)
	_, err = s.Archives(t.Context(), two.Address, two.Version)
	refused("checksums with a signature of another key", err)
}

func TestTheStoreIsBounded(t *testing.T) {
	r, store := registrytest.New(t), postgrestest.New(t)
	const size = 300 << 10
	all := make([]providermirror.Target, 6)
	for i := range all {
		all[i] = archive("p", fmt.Sprintf("1.0.%d", i))
		r.Add(t, all[i], "program", size)
	}
	const limit = 3*size + 100<<10
	a, b := replica(t, store, r, limit), replica(t, store, r, limit)
	for i := range 3 {
		read(t, a, all[i])
	}
	// The first is used, so that the second is the oldest.
	if _, err := store.Pool().Exec(t.Context(), "UPDATE mirror_packages SET used_at = used_at - interval '1 hour'"); err != nil {
		t.Fatal(err)
	}
	read(t, b, all[0])
	read(t, b, all[3])
	names, _ := list(t, a)
	if got := strings.Join(names, ", "); got != "p 1.0.0, p 1.0.2, p 1.0.3" {
		t.Errorf("stored %s", got)
	}

	var group sync.WaitGroup
	for i, target := range all {
		s := []*mirror.Service{a, b}[i%2]
		for range 2 {
			group.Go(func() {
				if _, err := s.Open(t.Context(), target); err != nil && !codersdk.Is(err, codersdk.CodePrecondition) {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	names, total := list(t, a)
	if total > limit || len(names) != 3 {
		t.Errorf("stored %v, %d bytes", names, total)
	}
	var orphans int
	if err := store.Pool().QueryRow(t.Context(), "SELECT count(*) FROM mirror_chunks c WHERE NOT EXISTS (SELECT FROM mirror_packages p WHERE p.id = c.package_id)").Scan(&orphans); err != nil || orphans != 0 {
		t.Errorf("%d chunks of no archive, %v", orphans, err)
	}

	huge := archive("huge", "1.0.0")
	r.Add(t, huge, "program", limit)
	if _, err := a.Open(t.Context(), huge); !codersdk.Is(err, codersdk.CodeTooLarge) || !strings.Contains(err.Error(), "--mirror-max-bytes") {
		t.Errorf("an archive larger than the store: %v", err)
	}
}

// TestAClientThatLeaves ends the request that downloads; another one that waits for the same archive takes
// over.
func TestAClientThatLeaves(t *testing.T) {
	r, store := registrytest.New(t), postgrestest.New(t)
	one := archive("one", "1.0.0")
	want := r.Add(t, one, "program", 2<<20)
	s := replica(t, store, r, large)
	middle, release := r.Hold()
	ctx, leave := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := s.Open(ctx, one)
		first <- err
	}()
	testwait.Receive(t, "the download to begin", middle)
	second := make(chan error, 1)
	go func() {
		_, err := s.Open(t.Context(), one)
		second <- err
	}()
	leave()
	if err := testwait.Receive(t, "the first request", first); err == nil {
		t.Error("the canceled request succeeded")
	}
	release()
	if err := testwait.Receive(t, "the second request", second); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, one); !bytes.Equal(got, want) {
		t.Error("the archive differs")
	}
}

// Variables of the server that TestAKilledServer kills.
const killedURL, killedRegistry, killedDir = "MIRROR_TEST_DATABASE", "MIRROR_TEST_REGISTRY", "MIRROR_TEST_DIR"

func TestMain(m *testing.M) {
	if url := os.Getenv(killedURL); url != "" {
		pullAndHang(url)
	}
	os.Exit(m.Run())
}

// pullAndHang pulls archives one after another until it is killed.
func pullAndHang(url string) {
	ctx := context.Background()
	store, err := postgres.Open(ctx, postgres.Config{URL: url})
	if err != nil {
		panic(err)
	}
	s := mirror.New(mirror.Config{
		Enable: true,
		Store:  store, Registry: registry.New(registrytest.Untrusted(os.Getenv(killedRegistry)), time.Now), MaxBytes: large,
		Upstreams: []string{providermirror.TerraformRegistry}, Dir: os.Getenv(killedDir), Log: slog.New(slog.DiscardHandler),
	})
	for i := 0; ; i++ {
		if _, err := s.Open(ctx, archive("p", fmt.Sprintf("1.0.%d", i))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func TestAKilledServer(t *testing.T) {
	r := registrytest.New(t)
	url := postgrestest.URL(t)
	store, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	whole, cut := archive("p", "1.0.0"), archive("p", "1.0.1")
	r.Add(t, whole, "program", 1<<20)
	want := r.Add(t, cut, "program", 2<<20)
	s := replica(t, store, r, large)
	read(t, s, whole)

	middle, release := r.Hold()
	dir := t.TempDir()
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), killedURL+"="+url, killedRegistry+"="+r.Address(), killedDir+"="+dir)
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	testwait.Receive(t, "the download to be in the middle", middle)
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	server.Wait() //nolint:errcheck // it was killed
	release()
	if names, _ := list(t, s); strings.Join(names, ", ") != "p 1.0.0" {
		t.Errorf("stored %v", names)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the killed server left %v, %v", left, err)
	}
	if got := read(t, s, cut); !bytes.Equal(got, want) {
		t.Error("the archive differs")
	}
}

// TestAServerKilledWhileItStores kills the database connection of a server between two chunks.
func TestAServerKilledWhileItStores(t *testing.T) {
	r, store := registrytest.New(t), postgrestest.New(t)
	one := archive("one", "1.0.0")
	want := r.Add(t, one, "program", 8<<20)
	// The fourth chunk ends the session that inserts it.
	_, err := store.Pool().Exec(t.Context(), `
		CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;
		CREATE TRIGGER die BEFORE INSERT ON mirror_chunks FOR EACH ROW WHEN (NEW.number = 3) EXECUTE FUNCTION die()`)
	if err != nil {
		t.Fatal(err)
	}
	s := replica(t, store, r, large)
	if _, err := s.Open(t.Context(), one); err == nil {
		t.Fatal("stored through a dead connection")
	}
	if names, _ := list(t, s); len(names) != 0 {
		t.Errorf("stored %v", names)
	}
	if _, err := store.Pool().Exec(t.Context(), "DROP TRIGGER die ON mirror_chunks"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, one); !bytes.Equal(got, want) {
		t.Error("the archive differs")
	}
}

func TestOnlyAdministratorsManage(t *testing.T) {
	r, store := registrytest.New(t), postgrestest.New(t)
	s := replica(t, store, r, large)
	if _, err := s.List(t.Context(), access.Subject{}, codersdk.Page{Limit: 1}); err == nil {
		t.Error("anyone can list")
	}
	if _, err := s.Pull(t.Context(), access.Subject{}, providermirror.PullRequest{Target: archive("one", "1.0.0")}); err == nil {
		t.Error("anyone can pull")
	}
	if n := r.Requests.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}
