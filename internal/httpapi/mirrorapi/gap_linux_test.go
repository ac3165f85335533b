package mirrorapi_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-2a7f8fe7/coder/internal/mirror"
	"github.com/seed-2a7f8fe7/coder/internal/mirror/registrytest"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/registry"
)

// gapURL is the variable with the database of TestInsideTheGap.
const gapURL = "MIRROR_GAP_DATABASE"

// gapNames are the providers of the builds without a network.
func gapNames() []string { return []string{"one", "two", "three", "four", "five"} }

// gapModules are the modules of the builds without a network.
func gapModules() []string { return append(gapNames(), "six", "seven", "eight", "nine", "ten") }

// TestAirGap stores providers and modules, then runs TestInsideTheGap in a network namespace that has only a loopback
// interface.
func TestAirGap(t *testing.T) {
	url := postgrestest.URL(t)
	if !strings.Contains(url, "host=/") && !strings.Contains(url, "host=%2F") {
		t.Skip("PostgreSQL has no socket that a network namespace can reach: the air gap is not tested")
	}
	store, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h := &house{registry: registrytest.New(t)}
	s := mirror.New(mirror.Config{
		Enable: true, Store: store, Registry: registry.New(h.registry.Transport(), time.Now), Upstreams: []string{providermirror.TerraformRegistry},
		MaxBytes: 1 << 30, Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
	})
	for _, name := range gapNames() {
		if _, err := s.Open(t.Context(), h.publish(t, name, "1.0.0")); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range gapModules() {
		if _, err := s.Open(t.Context(), h.publishModule(t, name)); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	inside := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInsideTheGap$", "-test.v")
	inside.Env = append(os.Environ(), gapURL+"="+url)
	inside.Stdout, inside.Stderr = &out, &out
	inside.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	err = inside.Run()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("network namespaces need root: the air gap is not tested")
	}
	if err != nil || !strings.Contains(out.String(), "--- PASS: TestInsideTheGap") && !strings.Contains(out.String(), "--- SKIP") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// TestInsideTheGap builds twice with nothing but the loopback interface. No packet tries to leave.
func TestInsideTheGap(t *testing.T) {
	url := os.Getenv(gapURL)
	if url == "" {
		t.Skip("TestAirGap runs this test")
	}
	if err := loopbackUp(); err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h := &house{}
	h.serve(t, mirror.Config{Store: store, Registry: registry.New(nil, time.Now)})
	e, source := h.engine(t, key), packed(t, usesOf(gapNames()...)+callsOf(gapModules()...))
	os.Unsetenv("HTTPS_PROXY") //nolint:errcheck // a packet that tries to leave is counted
	problem, modules := buildWith(t, e, source, nil)
	if problem != "" {
		t.Fatal(problem)
	}
	if h.bytes.Load() == 0 {
		t.Error("the first build read nothing")
	}
	h.bytes.Store(0)
	if problem, _ := buildWith(t, e, source, modules); problem != "" {
		t.Fatal(problem)
	}
	if n := h.bytes.Load(); n != 0 {
		t.Errorf("the second build read %d bytes", n)
	}
	if n := noRoutes(t); n != "0" {
		t.Errorf("%s packets tried to leave", n)
	}
}

// loopbackUp turns the loopback interface on.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// noRoutes returns the number of IPv4 packets for which the namespace had no route.
func noRoutes(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/net/snmp")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^Ip: .*$`).FindAllString(string(text), -1)
	if len(lines) != 2 {
		t.Fatalf("unexpected %s", text)
	}
	values := strings.Fields(lines[1])
	for i, name := range strings.Fields(lines[0]) {
		if name == "OutNoRoutes" {
			return values[i]
		}
	}
	t.Fatal("the kernel does not count packets without a route")
	return ""
}
