package clienttest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	contractfiles "github.com/seed-2a7f8fe7/coder/api/contract"
)

// Sections of a client in clients.json.
const (
	cliSection      = "cli"
	restSection     = "rest"
	gateSection     = "gates"
	socketSection   = "websocket"
	downloadSection = "downloads"
	fileSection     = "files"
	errorSection    = "errors"
	urlSection      = "urls"
	envSection      = "env"
	noteSection     = "notes"
)

// Parts of clients.json that do not belong to a client. A client with the name of the
// part has their rows.
const (
	commonSection     = "common"
	differenceSection = "differences"
)

// client is a released client with its rows. The rows are in the order in which the
// client uses the product.
type client struct {
	name string // prefix of the name in clients.json
	rows []row
}

// row proves entries of clients.json.
type row struct {
	section string
	// entries are prefixes of the texts that entryText returns for the entries.
	entries []string
	run     func(s *session)
}

func cli(entry string, run func(*session)) row  { return row{cliSection, []string{entry}, run} }
func rest(entry string, run func(*session)) row { return row{restSection, []string{entry}, run} }
func socket(entry string, run func(*session)) row {
	return row{socketSection, []string{entry}, run}
}
func download(entry string, run func(*session)) row {
	return row{downloadSection, []string{entry}, run}
}
func file(entry string, run func(*session)) row { return row{fileSection, []string{entry}, run} }
func errors_(run func(*session), entries ...string) row {
	return row{errorSection, entries, run}
}
func urls(run func(*session), entries ...string) row  { return row{urlSection, entries, run} }
func env(run func(*session), entries ...string) row   { return row{envSection, entries, run} }
func notes(run func(*session), entries ...string) row { return row{noteSection, entries, run} }

// outside marks entries that no request and no command line can check. reason is
// why.
func outside(reason string) func(*session) {
	return func(s *session) {
		if reason == "" {
			s.t.Error("outside() needs a reason")
		}
	}
}

// provedBy marks entries that tests of other packages prove. A test has the form
// "internal/terraform.TestName".
func provedBy(tests ...string) func(*session) {
	return func(s *session) {
		for _, test := range tests {
			dir, name, _ := strings.Cut(test, ".")
			files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
			s.must(err)
			found := false
			for _, f := range files {
				b, err := os.ReadFile(f)
				s.must(err)
				found = found || strings.Contains(string(b), "func "+name+"(")
			}
			if !found {
				s.t.Errorf("test %s not found", test)
			}
		}
	}
}

// all runs several checks for one entry.
func all(checks ...func(*session)) func(*session) {
	return func(s *session) {
		for _, check := range checks {
			check(s)
		}
	}
}

// contract is the content of clients.json, as texts of its entries.
type contract struct {
	Clients []contractClient
}

// contractClient has the entries of a client, by section.
type contractClient struct {
	Name     string
	Sections map[string][]string
}

// add adds a part of clients.json that does not belong to a client.
func (c *contract) add(section string, texts []string) {
	c.Clients = append(c.Clients, contractClient{Name: section, Sections: map[string][]string{section: texts}})
}

func readContract(t *testing.T) contract {
	t.Helper()
	b, err := contractfiles.Files.ReadFile("clients.json")
	if err != nil {
		t.Fatal(err)
	}
	var raw struct {
		Clients []map[string]json.RawMessage `json:"clients"`
		Common  []struct {
			Topic string `json:"topic"`
		} `json:"common"`
		Differences struct {
			List []struct {
				ID string `json:"id"`
			} `json:"list"`
		} `json:"differences"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	var c contract
	for _, fields := range raw.Clients {
		one := contractClient{Sections: map[string][]string{}}
		if err := json.Unmarshal(fields["name"], &one.Name); err != nil {
			t.Fatal(err)
		}
		for _, section := range []string{
			cliSection, restSection, gateSection, socketSection, downloadSection, fileSection, errorSection, urlSection, envSection, noteSection,
		} {
			var list []any
			if err := json.Unmarshal(fields[section], &list); err != nil {
				t.Fatalf("%s: %s: %v", one.Name, section, err)
			}
			for _, e := range list {
				one.Sections[section] = append(one.Sections[section], entryText(section, e))
			}
		}
		c.Clients = append(c.Clients, one)
	}
	var topics, ids []string
	for _, fact := range raw.Common {
		topics = append(topics, fact.Topic)
	}
	for _, fault := range raw.Differences.List {
		ids = append(ids, fault.ID)
	}
	c.add(commonSection, topics)
	c.add(differenceSection, ids)
	return c
}

// entryText returns the text that identifies an entry: the words of a command line,
// the method, path and query of a request, the threshold and source of a gate, or
// the path of a file, download or WebSocket. An entry that is a string is its own
// text.
func entryText(section string, entry any) string {
	if text, ok := entry.(string); ok {
		return text
	}
	fields, _ := entry.(map[string]any)
	text := func(key string) string { s, _ := fields[key].(string); return s }
	switch section {
	case cliSection:
		words := []string{}
		args, _ := fields["args"].([]any)
		for _, a := range args {
			words = append(words, fmt.Sprint(a))
		}
		return strings.Join(words, " ")
	case restSection:
		return strings.TrimSpace(text("method") + " " + text("path") + " " + text("query"))
	case gateSection:
		return text("at_least") + ", " + text("source")
	}
	if path := text("path"); path != "" {
		return path
	}
	return text("rules")
}

// TestEveryEntryHasARow checks that each entry of clients.json has exactly one row,
// and that each row has entries.
func TestEveryEntryHasARow(t *testing.T) {
	rows := map[string]client{}
	c := readContract(t)
	for _, one := range clients() {
		found := 0
		for _, known := range c.Clients {
			if strings.HasPrefix(known.Name, one.name) {
				rows[known.Name] = one
				found++
			}
		}
		if found != 1 {
			t.Errorf("%q is a prefix of the names of %d clients in clients.json, want 1", one.name, found)
		}
	}
	for _, known := range c.Clients {
		one, ok := rows[known.Name]
		if !ok {
			t.Errorf("%s has no rows", known.Name)
			continue
		}
		checkRows(t, one, known.Sections)
	}
}

func checkRows(t *testing.T, c client, sections map[string][]string) {
	t.Helper()
	covered := map[string]int{}
	for _, r := range c.rows {
		for _, prefix := range r.entries {
			matches := beginningWith(prefix, sections[r.section])
			if len(matches) != 1 {
				t.Errorf("%s: the row %s %q is a prefix of %d entries, want 1: %q", c.name, r.section, prefix, len(matches), matches)
			}
			for _, m := range matches {
				covered[r.section+" "+m]++
			}
		}
	}
	for section, entries := range sections {
		for _, e := range entries {
			if n := covered[section+" "+e]; n != 1 {
				t.Errorf("%s: %d rows for %s %q, want 1", c.name, n, section, e)
			}
		}
	}
}

// beginningWith returns the names with a prefix. If prefix itself is a name, it
// returns only prefix.
func beginningWith(prefix string, names []string) (matches []string) {
	for _, name := range names {
		if name == prefix {
			return []string{name}
		}
		if strings.HasPrefix(name, prefix) {
			matches = append(matches, name)
		}
	}
	return matches
}
