package archtest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/seed-2a7f8fe7/coder"

// pkg is a package of the module as `go list` describes it.
type pkg struct {
	Dir, ImportPath, Doc string
	Imports              []string
	GoFiles, CgoFiles    []string
	IgnoredGoFiles       []string
	TestGoFiles          []string
	XTestGoFiles         []string

	path string // relative to the module
}

// ownImports returns the packages of the module that p imports, relative to it.
func (p pkg) ownImports() []string {
	var own []string
	for _, path := range p.Imports {
		if strings.HasPrefix(path, module+"/") {
			own = append(own, relative(path))
		}
	}
	return own
}

// sources returns the paths of the files that are not tests, for every platform.
func (p pkg) sources() []string {
	var paths []string
	for _, f := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
		if !strings.HasSuffix(f, "_test.go") {
			paths = append(paths, filepath.Join(p.Dir, f))
		}
	}
	return paths
}

// tests returns the paths of the test files.
func (p pkg) tests() []string {
	var paths []string
	for _, f := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		paths = append(paths, filepath.Join(p.Dir, f))
	}
	return paths
}

var listPackages = sync.OnceValues(func() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-json=Dir,ImportPath,Doc,Imports,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all []pkg
	d := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		p.path = relative(p.ImportPath)
		if p.Imports, err = withOtherPlatforms(p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// withOtherPlatforms returns the imports of p on every platform: go list leaves
// out those of files that this one does not build.
func withOtherPlatforms(p pkg) ([]string, error) {
	paths := p.Imports
	for _, name := range p.IgnoredGoFiles {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, spec := range file.Imports {
			if path := strings.Trim(spec.Path.Value, `"`); !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths, nil
}

func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := listPackages()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func relative(importPath string) string { return strings.TrimPrefix(importPath, module+"/") }

// matches reports whether a pattern of the table names a package.
func matches(pattern, path string) bool {
	if pattern == "./..." {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return below(base, path)
	}
	return pattern == path
}

// below reports whether a path is base or below it.
func below(base, path string) bool { return path == base || strings.HasPrefix(path, base+"/") }

func tierOf(path string) *tier {
	for i := range tiers {
		if slices.ContainsFunc(tiers[i].packages, func(pattern string) bool { return matches(pattern, path) }) {
			return &tiers[i]
		}
	}
	return nil
}

func TestPackagesImportOnlyWhatTheirTierMay(t *testing.T) {
	for _, p := range packages(t) {
		tier := tierOf(p.path)
		if tier == nil {
			t.Errorf("%s has no tier: add it to the table", p.path)
			continue
		}
		for _, path := range p.ownImports() {
			allowed := slices.ContainsFunc(tier.may, func(pattern string) bool { return matches(pattern, path) })
			for pattern := range exceptions[p.path] {
				allowed = allowed || matches(pattern, path)
			}
			if !allowed && !below(p.path, path) {
				t.Errorf("%s (tier %d, %s) may not import %s", p.path, tier.number, tier.name, path)
			}
		}
	}
}

func TestLibrariesStayConfined(t *testing.T) {
	for _, p := range packages(t) {
		for _, path := range p.Imports {
			for library, users := range confined {
				if below(library, path) && !slices.ContainsFunc(users, func(user string) bool { return below(user, p.path) }) {
					t.Errorf("%s may not import %s: only %v may", p.path, path, users)
				}
			}
		}
	}
}

func TestPackagesAreDocumented(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" && len(p.GoFiles) > 0 && !strings.HasPrefix(p.path, "api/") && p.path != "internal/postgres/sqlc" {
			t.Errorf("%s has no package comment", p.path)
		}
	}
}

func TestNoReplaceAndNoSleep(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mod)) {
		if strings.HasPrefix(strings.TrimSpace(line), "replace") {
			t.Errorf("go.mod: %s", line)
		}
	}
	for _, p := range packages(t) {
		for _, path := range p.tests() {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(b), "time."+"Sleep(") && !strings.Contains(string(b), "testing/synctest") {
				t.Errorf("%s/%s sleeps: wait for a signal instead", p.path, filepath.Base(path))
			}
		}
	}
}

// TestArchitectureShowsTheTable compares ARCHITECTURE.md with the table: it
// names every package under its tier, and the budgets.
func TestArchitectureShowsTheTable(t *testing.T) {
	b, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tier := range tiers {
		row := ""
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, fmt.Sprintf("| %d %s |", tier.number, tier.name)) {
				row = line
			}
		}
		if row == "" {
			t.Errorf("ARCHITECTURE.md has no row %q", fmt.Sprintf("| %d %s |", tier.number, tier.name))
			continue
		}
		for _, pattern := range tier.packages {
			if !strings.Contains(row, "`"+strings.TrimPrefix(pattern, "internal/")+"`") {
				t.Errorf("ARCHITECTURE.md: the row of tier %d lacks `%s`", tier.number, strings.TrimPrefix(pattern, "internal/"))
			}
		}
	}
	text := string(b)
	start, end := strings.Index(text, "Budgets of hand-written code"), strings.Index(text, "\nA limit is raised only")
	if start < 0 || end < start {
		t.Fatal("ARCHITECTURE.md has no paragraph about the budgets")
	}
	if *update {
		if err := os.WriteFile("../../ARCHITECTURE.md", []byte(text[:start]+wrap(budgetText(), 88)+text[end:]), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if strings.Join(strings.Fields(text[start:end]), " ") != budgetText() {
		t.Errorf("ARCHITECTURE.md does not state the budgets of the table; update it with: go test ./internal/archtest -update\n%s", budgetText())
	}
}

var update = flag.Bool("update", false, "write the budgets into ARCHITECTURE.md")

// wrap breaks a text into lines of at most that many columns.
func wrap(text string, columns int) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case used+1+len(word) > columns:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += len(word)
	}
	return b.String()
}

// parse parses a file, and reports whether it is written by hand.
func parse(t *testing.T, path string) (src []byte, fset *token.FileSet, file *ast.File, byHand bool) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fset = token.NewFileSet()
	file, err = parser.ParseFile(fset, path, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return src, fset, file, !ast.IsGenerated(file)
}

// requireUsed fails for each exception in a list, named list, that nothing needs.
func requireUsed(t *testing.T, list string, exceptions map[string]string, used map[string]bool) {
	t.Helper()
	for name := range exceptions {
		if !used[name] {
			t.Errorf("nothing needs the exception for %s: remove it from %s", name, list)
		}
	}
}
