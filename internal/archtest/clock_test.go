package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// localClock matches calls that read the clock of this machine. As a value, such as
// `c.Now = time.Now`, it is a default of tests and tools, which servers replace.
var localClock = regexp.MustCompile(`\btime\.(Now\(\)|Since\(|Until\()|timestamppb\.Now\(\)`)

// clockRoots are the packages whose times end up in the database or come from it, and those of
// the agent whose times the server stores.
var clockRoots = []string{
	"audit", "connection", "deployment", "externalauth", "fairshare", "health", "identity", "insight", "keyring", "login", "metrics", "notification",
	"oauth2provider", "organization", "orgrule", "parameter", "prebuild", "presence", "proxy", "queue", "resource", "schedule", "scim",
	"serviceaccount", "switchboard", "template", "usersecret", "workspace", "workspaceapp", "agentapi", "provisionapi", "agent/report",
	"server/sessions", "server/provisioning", "server/retention", "server/workspaces",
}

// localTimes are files of clockRoots that may read the clock of this machine, with the reason.
var localTimes = map[string]string{
	"externalauth/token.go":            "a duration: how long the provider says a token lives",
	"health/health.go":                 "measures checks",
	"health/relay.go":                  "measures a round trip",
	"notification/dispatch/metrics.go": "measures deliveries",
	"presence/metadata.go":             "measures followers",
	"presence/metrics.go":              "measures followers",
	"presence/observe.go":              "measures a scrape",
	"queue/metrics.go":                 "ages a cache",
	"schedule/schedule.go":             "measures a round",
	"server/retention/retention.go":    "measures deletions",
}

// TestServersUseTheClockOfTheDatabase checks that times which are stored, or compared with
// stored ones, are not by the clock of this machine: by an injected clock or by PostgreSQL.
func TestServersUseTheClockOfTheDatabase(t *testing.T) {
	used := map[string]bool{}
	for _, dir := range clockRoots {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
			for i, line := range strings.Split(string(text), "\n") {
				code, _, _ := strings.Cut(line, "//")
				if !localClock.MatchString(code) {
					continue
				}
				used[name] = true
				if localTimes[name] == "" {
					t.Errorf("internal/%s:%d reads the clock of this machine: use an injected clock, or now() in SQL", name, i+1)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	requireUsed(t, "localTimes", localTimes, used)
}
