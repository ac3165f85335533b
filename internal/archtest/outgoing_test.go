package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// notConnected are hosts in the source that no program connects to, with the
// reason.
var notConnected = map[string]string{
	"accounts.google.com": "the issuer in signed identities",
	"api.anthropic.com":   "the default of an option that is refused",
	"api.openai.com":      "the default of an option that is refused",
	"coder.com":           "the default of --docs-url, whose links users follow",
	"global.anthropic.claude-haiku-4-5-20251001-v1":  "the name of a model in such a default",
	"global.anthropic.claude-sonnet-4-5-20250929-v1": "the name of a model in such a default",
}

// TestOutgoingConnectionsAreListed requires that docs/outgoing-connections.md
// names every host that the source of the programs names as a URL or as an
// address.
func TestOutgoingConnectionsAreListed(t *testing.T) {
	page, err := os.ReadFile("../../docs/outgoing-connections.md")
	if err != nil {
		t.Fatal(err)
	}
	literal := regexp.MustCompile("[\"`](?:https?|wss?)://([a-z0-9-]+(?:\\.[a-z0-9-]+)+)[/:\"`]|\"([a-z0-9-]+(?:\\.[a-z0-9-]+)+):[0-9]+[\",]")
	own := regexp.MustCompile(`(^|\.)(example(\.(com|org|net))?|localhost|test|invalid|[0-9]+)$`)
	seen := map[string]bool{}
	for _, top := range []string{"../../internal", "../../codersdk", "../../cmd"} {
		err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if d != nil && (d.Name() == "bench" || d.Name() == "testdata" || strings.HasSuffix(d.Name(), "test")) {
					return filepath.SkipDir
				}
				return err
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range literal.FindAllSubmatch(b, -1) {
				host := string(m[1]) + string(m[2])
				if own.MatchString(host) {
					continue
				}
				seen[host] = true
				if notConnected[host] == "" && !strings.Contains(string(page), "`"+host+"`") {
					t.Errorf("%s names the host %s, and docs/outgoing-connections.md does not", path, host)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d hosts were found: %v", len(seen), seen)
	}
	for host := range notConnected {
		if !seen[host] {
			t.Errorf("notConnected has %s, which the source does not name", host)
		}
	}
}
