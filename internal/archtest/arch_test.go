package archtest

import (
	"encoding/json"
	"errors"
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

type pkg struct {
	Dir, ImportPath, Doc string
	Imports              []string
	GoFiles, CgoFiles    []string
	IgnoredGoFiles       []string
	TestGoFiles          []string
	XTestGoFiles         []string
	room                 string
}

var house = sync.OnceValues(func() ([]pkg, error) {
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
		p.room = room(p.ImportPath)
		all = append(all, p)
	}
})

func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := house()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func room(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

func matches(pattern, room string) bool {
	if pattern == "./..." {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return room == base || strings.HasPrefix(room, base+"/")
	}
	return pattern == room
}

func tierOf(room string) *tier {
	for i := range tiers {
		if slices.ContainsFunc(tiers[i].rooms, func(p string) bool { return matches(p, room) }) {
			return &tiers[i]
		}
	}
	return nil
}

func TestEveryRoomHasATierAndImportsOnlyWhatItMay(t *testing.T) {
	for _, p := range packages(t) {
		tr := tierOf(p.room)
		if tr == nil {
			t.Errorf("%s has no tier: put it in the table", p.room)
			continue
		}
		for _, imp := range p.Imports {
			if imp != module && !strings.HasPrefix(imp, module+"/") {
				continue
			}
			r := room(imp)
			ok := slices.ContainsFunc(tr.may, func(m string) bool { return matches(m, r) })
			for pattern := range pairs[p.room] {
				ok = ok || matches(pattern, r)
			}
			if !ok && !strings.HasPrefix(r, p.room+"/") {
				t.Errorf("%s (tier %d, %s) may not import %s", p.room, tr.number, tr.name, r)
			}
		}
	}
}

func TestLibrariesStayInTheirRooms(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			for lib, rooms := range confined {
				if imp != lib && !strings.HasPrefix(imp, lib+"/") {
					continue
				}
				if !slices.ContainsFunc(rooms, func(r string) bool { return p.room == r || strings.HasPrefix(p.room, r+"/") }) {
					t.Errorf("%s may not import %s: that library belongs to %v", p.room, imp, rooms)
				}
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" && len(p.GoFiles) > 0 && !strings.HasPrefix(p.room, "api/") && p.room != "internal/postgres/sqlc" {
			t.Errorf("%s has no package comment", p.room)
		}
	}
}

func TestBudgets(t *testing.T) {
	for _, p := range packages(t) {
		total := 0
		for _, f := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			total += checkFile(t, p, filepath.Join(p.Dir, f))
		}
		limit := maxPackageLines
		if l, ok := packageLines[p.room]; ok {
			limit = l
		}
		if total > limit {
			t.Errorf("%s has %d lines, more than %d", p.room, total, limit)
		}
		fan := 0
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, module+"/internal/") {
				fan++
			}
		}
		limit = maxImports
		if l, ok := imports[p.room]; ok {
			limit = l
		}
		if fan > limit && tierOf(p.room) != nil && tierOf(p.room).name != "proving" { // test rooms assemble what they prove
			t.Errorf("%s imports %d internal packages, more than %d", p.room, fan, limit)
		}
	}
}

// checkFile gives the lines of a hand-written file, 0 for a generated one.
func checkFile(t *testing.T, p pkg, path string) int {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(file) {
		return 0
	}
	name := p.room + "/" + filepath.Base(path)
	lines := strings.Count(string(src), "\n")
	if lines > maxFileLines {
		t.Errorf("%s has %d lines, more than %d", name, lines, maxFileLines)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil {
				t.Errorf("%s has an init function", name)
			}
			if l := fset.Position(n.End()).Line - fset.Position(n.Pos()).Line + 1; l > maxFuncLines {
				t.Errorf("%s: %s has %d lines, more than %d", name, n.Name.Name, l, maxFuncLines)
			}
		case *ast.TypeSpec:
			if i, ok := n.Type.(*ast.InterfaceType); ok {
				limit := maxInterfaceSize
				if l, ok := interfaceSize[p.room+"."+n.Name.Name]; ok {
					limit = l
				}
				if len(i.Methods.List) > limit {
					t.Errorf("%s: interface %s has %d methods, more than %d", name, n.Name.Name, len(i.Methods.List), limit)
				}
			}
		}
		return true
	})
	return lines
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
		for _, f := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			b, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(b), "time."+"Sleep(") && !strings.Contains(string(b), "testing/synctest") {
				t.Errorf("%s/%s sleeps: wait for a signal instead", p.room, f)
			}
		}
	}
}

// TestArchitectureShowsTheTable keeps ARCHITECTURE.md true: it must name every
// room under its tier.
func TestArchitectureShowsTheTable(t *testing.T) {
	b, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range tiers {
		row := ""
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, fmt.Sprintf("| %d %s |", tr.number, tr.name)) {
				row = line
			}
		}
		if row == "" {
			t.Errorf("ARCHITECTURE.md has no row %q", fmt.Sprintf("| %d %s |", tr.number, tr.name))
			continue
		}
		for _, r := range tr.rooms {
			if !strings.Contains(row, "`"+strings.TrimPrefix(r, "internal/")+"`") {
				t.Errorf("ARCHITECTURE.md: the row of tier %d lacks `%s`", tr.number, strings.TrimPrefix(r, "internal/"))
			}
		}
	}
}
