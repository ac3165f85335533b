package embedded_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/embedded"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

func config(dir string) embedded.Config {
	return embedded.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)}
}

// tempDir returns a directory that any user can reach, because PostgreSQL may run
// as another user.
func tempDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func start(t *testing.T, c embedded.Config) *embedded.Cluster {
	t.Helper()
	cl, err := embedded.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

func stop(t *testing.T, cl *embedded.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
	defer cancel()
	if err := cl.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

func query(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var s string
	if err := conn.QueryRow(t.Context(), sql).Scan(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

func storeRow(t *testing.T, url, value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT '"+value+"' AS v"); err != nil {
		t.Fatal(err)
	}
}

func TestDataOutlivesTheCluster(t *testing.T) {
	c := config(tempDir(t))
	cl := start(t, c)
	storeRow(t, cl.URL(), "here")
	stop(t, cl)
	cl = start(t, c)
	defer stop(t, cl)
	if got := query(t, cl.URL(), "SELECT v FROM kept"); got != "here" {
		t.Fatalf("got %q", got)
	}
	url, err := embedded.URL(c.Dir)
	if err != nil || url != cl.URL() {
		t.Errorf("URL(%q) = %q, %v; the URL of the cluster is %q", c.Dir, url, err, cl.URL())
	}
}

func TestSecondServerIsRefused(t *testing.T) {
	c := config(tempDir(t))
	defer stop(t, start(t, c))
	_, err := embedded.Start(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "in use by another server") {
		t.Fatalf("got %v", err)
	}
}

func TestLongPathsUseLoopback(t *testing.T) {
	c := config(filepath.Join(tempDir(t), strings.Repeat("long-", 20)))
	cl := start(t, c)
	defer stop(t, cl)
	if !strings.Contains(cl.URL(), "127.0.0.1") {
		t.Errorf("the URL is %s", cl.URL())
	}
	if got := query(t, cl.URL(), "SELECT 'yes'"); got != "yes" {
		t.Error(got)
	}
}

func TestBinariesThatDoNotFitAreRefused(t *testing.T) {
	c := config(tempDir(t))
	c.BinDir = tempDir(t)
	if _, err := embedded.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), "initdb") {
		t.Errorf("a directory without programs: %v", err)
	}
	c = config(tempDir(t))
	if err := os.MkdirAll(filepath.Join(c.Dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "data", "PG_VERSION"), []byte("12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), "no PostgreSQL 12") {
		t.Errorf("data of a version that is not installed: %v", err)
	}
}

// TestKilledServer runs this test binary as a server process and kills it with
// SIGKILL. Its PostgreSQL must exit, and the next start must find all committed
// rows.
func TestKilledServer(t *testing.T) {
	if dir := os.Getenv("EMBEDDED_TEST_DIR"); dir != "" {
		cl := start(t, config(dir))
		storeRow(t, cl.URL(), "committed")
		os.Stdout.WriteString("ready\n")
		<-cl.Exited()
		return
	}
	dir := tempDir(t)
	child := exec.Command(os.Args[0], "-test.run", "^TestKilledServer$")
	child.Env = append(os.Environ(), "EMBEDDED_TEST_DIR="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 6)
	if _, err := out.Read(b); err != nil || string(b) != "ready\n" {
		t.Fatalf("the child wrote %q, %v", b, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait() //nolint:errcheck // killed
	cl := start(t, config(dir))
	defer stop(t, cl)
	if got := query(t, cl.URL(), "SELECT v FROM kept"); got != "committed" {
		t.Fatalf("got %q", got)
	}
}

// TestAnotherPostgresKeepsRunning starts a cluster whose postmaster.pid, left by a
// crash, has the process ID of another cluster. That cluster must keep running.
func TestAnotherPostgresKeepsRunning(t *testing.T) {
	other, c := config(tempDir(t)), config(tempDir(t))
	running := start(t, other)
	defer stop(t, running)
	stop(t, start(t, c))
	b, err := os.ReadFile(filepath.Join(other.Dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "data", "postmaster.pid"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	cl := start(t, c)
	defer stop(t, cl)
	select {
	case <-running.Exited():
		t.Fatal("the other cluster was stopped")
	default:
	}
	for _, url := range []string{running.URL(), cl.URL()} {
		if got := query(t, url, "SELECT 'runs'"); got != "runs" {
			t.Errorf("got %q", got)
		}
	}
}
