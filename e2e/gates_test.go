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

// gate is a threshold that a shipped client compares the version with.
type gate struct {
	Client   string
	AtLeast  string `json:"at_least"`
	Source   string `json:"source"`
	Switches string `json:"switches"`
}

// gates reads those of the contract that compare the version of the server or
// of the program.
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

// threshold is a number in the words of a gate, such as "2.29.0 and below 2.35.0".
var threshold = regexp.MustCompile(`(below |newer: )?(\d+\.\d+(?:\.\d+)?)`)

// numbers is all that Mux, Desktop, envbuilder and others read of a version.
var numbers = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)(?:[-+].*)?$`)

// reads reports whether a client takes version to be least or newer, by the
// client's own rules.
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

// TestVersionPassesTheGatesOfClients runs the version of the built program
// through the rules by which shipped clients turn on what they use.
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
	t.Logf("the program is of version %s", version)
	// These begin above the API level that the version promises.
	above := map[string]bool{"v2.38.0": true}
	n := 0
	for _, g := range gates(t) {
		for _, m := range threshold.FindAllStringSubmatch(g.AtLeast, -1) {
			n++
			below, least := m[1] == "below ", m[2]
			on := reads(t, g.Client, version, least)
			switch {
			case below && semver.Compare("v"+least, "v2.37.0") <= 0: // for older servers only
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
