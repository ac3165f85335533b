package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

// gate is a threshold that a released client compares the version with.
type gate struct {
	Client   string
	AtLeast  string `json:"at_least"`
	Source   string `json:"source"`
	Switches string `json:"switches"`
}

// gates returns the gates of the contract that compare the version of the server or of
// the CLI.
func gates(t *testing.T) []gate {
	b, err := os.ReadFile("../api/contract/clients.json")
	if err != nil {
		t.Fatal(err)
	}
	var contract struct {
		Clients []struct {
			Name  string
			Gates []gate
		}
	}
	if err := json.Unmarshal(b, &contract); err != nil {
		t.Fatal(err)
	}
	var out []gate
	for _, c := range contract.Clients {
		for _, g := range c.Gates {
			if g.AtLeast != "n/a" && (strings.Contains(g.Source, "CLI") || strings.Contains(g.Source, "server")) {
				g.Client = c.Name
				out = append(out, g)
			}
		}
	}
	return out
}

// threshold matches a version in the text of a gate, such as "2.29.0 and below 2.35.0".
var threshold = regexp.MustCompile(`(below |newer: )?(\d+\.\d+(?:\.\d+)?)`)

// numbers matches the part of a version that Mux, Desktop, envbuilder and others read.
var numbers = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)(?:[-+].*)?$`)

// reads reports whether a client considers version to be at least least, by the rules
// of the client.
func reads(t *testing.T, client, version, least string) bool {
	if !semver.IsValid(version) {
		t.Fatalf("%s cannot read %q", client, version)
	}
	if strings.HasPrefix(client, "VS Code") && strings.HasPrefix(semver.Prerelease(version), "-devel") {
		return true
	}
	m := numbers.FindStringSubmatch(version)
	if m == nil {
		t.Fatalf("%s cannot read %q", client, version)
	}
	return semver.Compare("v"+m[1], "v"+least) >= 0
}

// TestVersionPassesTheGatesOfClients checks the version of the built program against
// the rules by which released clients enable features.
func TestVersionPassesTheGatesOfClients(t *testing.T) {
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(bin, "version", "--output", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var program struct{ Version string }
	if err := json.Unmarshal(out, &program); err != nil {
		t.Fatal(err)
	}
	version := program.Version
	t.Logf("the version of the program is %s", version)
	// These thresholds are above the API level of the version.
	above := map[string]bool{"v2.38.0": true}
	n := 0
	for _, g := range gates(t) {
		for _, m := range threshold.FindAllStringSubmatch(g.AtLeast, -1) {
			n++
			below, least := m[1] == "below ", m[2]
			on := reads(t, g.Client, version, least)
			switch {
			case below && semver.Compare("v"+least, "v2.37.0") <= 0: // gates for older servers only
			case below && on && !strings.HasPrefix(g.Client, "VS Code"):
				t.Errorf("%s: version %s is beyond %s, below which %s", g.Client, version, least, g.Switches)
			case !below && !on && !above[semver.Canonical("v"+least)]:
				t.Errorf("%s: version %s is below %s, from which on %s", g.Client, version, least, g.Switches)
			}
		}
	}
	if n < 25 {
		t.Errorf("the contract has %d thresholds only", n)
	}
}
