package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

func TestLogger(t *testing.T) {
	var human bytes.Buffer
	path := filepath.Join(t.TempDir(), "log.json")
	log, done, err := telemetry.NewLogger(telemetry.LogConfig{
		Human: "/dev/stderr", Stackdriver: path, Filter: []string{"^server\\.queue$"}, Stderr: &human,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := log.With(telemetry.NameKey, "server")
	server.Debug("not this")
	server.With(telemetry.NameKey, "queue").Debug("but this")
	server.Warn("and that", slog.Int("n", 3))
	if err := done(); err != nil {
		t.Fatal(err)
	}
	if s := human.String(); strings.Contains(s, "not this") || !strings.Contains(s, "but this") || !strings.Contains(s, "n=3") {
		t.Errorf("human log:\n%s", s)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	var last struct{ Severity, Message string }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Severity != "WARNING" || last.Message != "and that" {
		t.Errorf("stackdriver line %+v, %v", last, err)
	}
}

func TestLoggerRefuses(t *testing.T) {
	if _, _, err := telemetry.NewLogger(telemetry.LogConfig{Filter: []string{"("}}); err == nil {
		t.Error("a broken filter was accepted")
	}
	if _, _, err := telemetry.NewLogger(telemetry.LogConfig{JSON: filepath.Join(t.TempDir(), "no", "such")}); err == nil {
		t.Error("a path that cannot be opened was accepted")
	}
}
