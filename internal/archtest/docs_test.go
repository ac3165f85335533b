package archtest

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxPageLines keeps a page of docs/ to one topic.
const maxPageLines = 120

// pages returns the Markdown files of the repository by path, without those of
// templates, whose links are relative to another place.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.Command("git", "-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard", "*.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for path := range strings.FieldsSeq(string(out)) {
		text, err := os.ReadFile("../../" + path)
		if os.IsNotExist(err) {
			continue // deleted and not committed yet
		} else if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(path, "examples/") && !strings.Contains(path, "testdata/") {
			all[path] = string(text)
		}
	}
	return all
}

// TestPagesAreShort limits the pages of docs/ to maxPageLines.
func TestPagesAreShort(t *testing.T) {
	for path, text := range pages(t) {
		if n := strings.Count(text, "\n"); strings.HasPrefix(path, "docs/") && n > maxPageLines {
			t.Errorf("%s has %d lines; split it by topic (limit %d)", path, n, maxPageLines)
		}
	}
}

// TestPagesAreListed requires that docs/README.md links every page, also of
// directories, and that the page of decisions links every decision.
func TestPagesAreListed(t *testing.T) {
	all := pages(t)
	for path := range all {
		dir, name := filepath.Split(path)
		switch {
		case !strings.HasPrefix(dir, "docs/") || name == "README.md":
		case dir == "docs/decisions/":
			if !strings.Contains(all[dir+"README.md"], "]("+name+")") {
				t.Errorf("%sREADME.md does not link %s", dir, name)
			}
		case !strings.Contains(all["docs/README.md"], "]("+strings.TrimPrefix(path, "docs/")+")"):
			t.Errorf("docs/README.md does not link %s", path)
		}
	}
}

var (
	markdownLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading       = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor   = regexp.MustCompile(`[^a-z0-9 _-]`)
	codeBlock     = regexp.MustCompile("(?s)```.*?```")
	dependency    = regexp.MustCompile("`([^`]+)`")
	externalLinks = regexp.MustCompile(`^[a-z]+:`)
)

// TestLinksOfPages requires that relative links lead to files, and their anchors
// to headings.
func TestLinksOfPages(t *testing.T) {
	all := pages(t)
	for path, text := range all {
		for _, m := range markdownLink.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			if externalLinks.MatchString(m[1]) {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat("../../" + target); err != nil {
				t.Errorf("%s links %s, which does not exist", path, m[1])
			} else if anchor != "" && !hasAnchor(all[target], anchor) {
				t.Errorf("%s links %s: no such heading", path, m[1])
			}
		}
	}
}

func hasAnchor(text, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		if strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}

// TestLibrariesAreExplained requires that decision 1 names every direct
// dependency of the module, of the dashboard and of the icons.
func TestLibrariesAreExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/decisions/0001-libraries.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range dependency.FindAllStringSubmatch(string(text), -1) {
		named[m[1]] = true
	}
	for _, d := range directDependencies(t) {
		scope, _, _ := strings.Cut(d, "/")
		if !named[strings.TrimPrefix(d, "github.com/")] && !named[scope+"/*"] {
			t.Errorf("docs/decisions/0001-libraries.md does not name %s", d)
		}
	}
}

// directDependencies returns the paths of required modules and npm packages,
// without indirect and development dependencies.
func directDependencies(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range mod.Require {
		if !r.Indirect {
			all = append(all, r.Path)
		}
	}
	for _, file := range []string{"../../web/package.json", "../../web/icons/package.json"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var p struct{ Dependencies map[string]string }
		if err := json.NewDecoder(bytes.NewReader(b)).Decode(&p); err != nil {
			t.Fatal(err)
		}
		for name := range p.Dependencies {
			all = append(all, name)
		}
	}
	return all
}

// TestAlertsHaveRunbooks requires that the runbook of each alert is a section of
// its page, and that the pages have no section without an alert.
func TestAlertsHaveRunbooks(t *testing.T) {
	rules, err := os.ReadFile("../../deploy/charts/coder/monitoring/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, have := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(?s)- alert: (\w+)\n.*?runbook_url: \S+/docs/(\S+)\n`).FindAllSubmatch(rules, -1) {
		want[string(m[2])] = true
		if !strings.HasSuffix(string(m[2]), "#"+strings.ToLower(string(m[1]))) {
			t.Errorf("the runbook of alert %s is %s", m[1], m[2])
		}
	}
	if n := bytes.Count(rules, []byte("- alert: ")); n == 0 || n != len(want) {
		t.Errorf("%d alerts have %d runbooks", n, len(want))
	}
	for _, page := range []string{"runbooks.md", "runbooks-server.md"} {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllSubmatch(text, -1) {
			have[page+"#"+strings.ToLower(string(m[1]))] = true
		}
	}
	if !maps.Equal(want, have) {
		t.Errorf("the alerts have the runbooks %v, the pages have %v", slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(have)))
	}
}
