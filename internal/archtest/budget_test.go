package archtest

import (
	"fmt"
	"go/ast"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// budgetText is the sentence of ARCHITECTURE.md about the budgets.
func budgetText() string {
	list := func(raised map[string]int) string {
		var parts []string
		for path, limit := range raised {
			parts = append(parts, fmt.Sprintf("`%s` %d", strings.TrimPrefix(path, "internal/"), limit))
		}
		slices.Sort(parts)
		return strings.Join(parts, ", ")
	}
	return fmt.Sprintf("Budgets of hand-written code: %d lines a file, %d a function, %d columns a line, %d parameters a function, %d methods an interface (%s), "+
		"%d lines a package (%s), %d lines for the median package, %d internal imports a package without those below it (%s).",
		maxFileLines, maxFuncLines, maxColumns, maxParameters, maxInterfaceMethods, list(interfaceMethods),
		maxPackageLines, list(packageLines), maxMedianLines, maxImports, list(imports))
}

// limitOf returns the limit of a package, and fails where it was raised
// although the standard limit holds.
func limitOf(t *testing.T, what string, raised map[string]int, path string, standard, actual int) int {
	t.Helper()
	limit, ok := raised[path]
	if !ok {
		return standard
	}
	if actual <= standard {
		t.Errorf("%s has %d %s and needs no limit of its own: remove the row from the table", path, actual, what)
	}
	return limit
}

func TestPackageBudgets(t *testing.T) {
	var sizes []int
	for _, p := range packages(t) {
		lines := 0
		for _, path := range p.sources() {
			if src, _, _, byHand := parse(t, path); byHand {
				lines += strings.Count(string(src), "\n")
			}
		}
		if lines > 0 {
			sizes = append(sizes, lines)
		}
		if limit := limitOf(t, "lines", packageLines, p.path, maxPackageLines, lines); lines > limit {
			t.Errorf("%s has %d lines, more than %d", p.path, lines, limit)
		}
		internal := 0
		for _, path := range p.ownImports() {
			if strings.HasPrefix(path, "internal/") && !below(p.path, path) { // its own parts do not count
				internal++
			}
		}
		limit := limitOf(t, "internal imports", imports, p.path, maxImports, internal)
		if tier := tierOf(p.path); internal > limit && tier != nil && tier.name != "proving" { // tests assemble what they prove
			t.Errorf("%s imports %d internal packages, more than %d", p.path, internal, limit)
		}
	}
	slices.Sort(sizes)
	if median := sizes[len(sizes)/2]; median > maxMedianLines {
		t.Errorf("the median of %d packages has %d lines, more than %d: split packages by responsibility", len(sizes), median, maxMedianLines)
	}
}

func TestFileBudgets(t *testing.T) {
	raised := map[string]bool{}
	for _, p := range packages(t) {
		for _, path := range p.sources() {
			src, fset, file, byHand := parse(t, path)
			if !byHand {
				continue
			}
			name := p.path + "/" + filepath.Base(path)
			if lines := strings.Count(string(src), "\n"); lines > maxFileLines {
				t.Errorf("%s has %d lines, more than %d", name, lines, maxFileLines)
			}
			checkColumns(t, name, src)
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					lines := fset.Position(n.End()).Line - fset.Position(n.Pos()).Line + 1
					checkFunc(t, name, n, lines)
				case *ast.TypeSpec:
					checkInterface(t, name, p.path, n, raised)
				}
				return true
			})
		}
	}
	for name := range interfaceMethods {
		if !raised[name] {
			t.Errorf("the interface %s needs no limit of its own: remove the row from the table", name)
		}
	}
}

// oneString is a line with nothing but a string, which is not broken so that a
// search finds the whole text; marker is a comment that a generator reads.
var (
	oneString = regexp.MustCompile("^\\s*[\"`][^\"`]*[\"`]?,?$")
	marker    = regexp.MustCompile(`^\s*// \+`)
)

// checkColumns counts a tab as one column, as editors that count characters do.
func checkColumns(t *testing.T, name string, src []byte) {
	t.Helper()
	number := 0
	for line := range strings.Lines(string(src)) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if columns := utf8.RuneCountInString(line); columns > maxColumns && !oneString.MatchString(line) && !marker.MatchString(line) {
			t.Errorf("%s:%d has %d columns, more than %d", name, number, columns, maxColumns)
		}
	}
}

// imposed are methods whose parameters an interface of a library fixes.
var imposed = map[string]bool{
	"Update": true, // rest.Updater of Kubernetes' API server has 7
}

// inits are the files that may have an init function, each with its reason.
var inits = map[string]string{
	"internal/gitauth/askpass/askpass.go": "it answers git before the packages of the rest of the program are initialized",
}

func checkFunc(t *testing.T, name string, f *ast.FuncDecl, lines int) {
	t.Helper()
	if f.Name.Name == "init" && f.Recv == nil && inits[name] == "" {
		t.Errorf("%s has an init function", name)
	}
	if lines > maxFuncLines {
		t.Errorf("%s: %s has %d lines, more than %d", name, f.Name.Name, lines, maxFuncLines)
	}
	if n := f.Type.Params.NumFields(); n > maxParameters && !imposed[f.Name.Name] {
		t.Errorf("%s: %s has %d parameters, more than %d", name, f.Name.Name, n, maxParameters)
	}
}

func checkInterface(t *testing.T, name, path string, spec *ast.TypeSpec, raised map[string]bool) {
	t.Helper()
	i, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return
	}
	limit := maxInterfaceMethods
	if l, ok := interfaceMethods[path+"."+spec.Name.Name]; ok {
		limit, raised[path+"."+spec.Name.Name] = l, len(i.Methods.List) > maxInterfaceMethods
	}
	if len(i.Methods.List) > limit {
		t.Errorf("%s: interface %s has %d methods, more than %d", name, spec.Name.Name, len(i.Methods.List), limit)
	}
}
