package archtest

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Bounds in this range are too short for a busy machine, and longer than what tests configure.
const shortestBound, longestBound = 5 * time.Second, 59 * time.Second

// shortBounds are functions in tests whose bounds in that range may stay, with the reason. Files
// that import testing/synctest need no entry for time that passes in a bubble.
var shortBounds = map[string]string{
	"e2e/fleet_test.go check":                          "the load balancer's own timeout: it then takes the server out",
	"e2e/replica_test.go TestKilledReplica":            "one try of many",
	"internal/provisionapi/reverse_test.go acquireJob": "the other server's own interval",
}

// TestTimeBoundsOfTests requires that a test neither sleeps nor fails because the machine is busy.
// Tests wait with internal/testwait, whose Limit bounds what could hang. Only tests that run in
// a bubble of testing/synctest, where time passes at once, sleep.
func TestTimeBoundsOfTests(t *testing.T) {
	used := map[string]bool{}
	for _, top := range []string{"cmd", "codersdk", "e2e", "internal", "tools"} {
		err := filepath.WalkDir(filepath.Join("../..", top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			_, fset, file, _ := parse(t, path)
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			inBubble := importsPackage(file, "testing/synctest")
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				simulated := inBubble && (!ok || !isTest(f.Name.Name) || callsFunction(f, "synctest.Test"))
				ast.Inspect(decl, func(n ast.Node) bool {
					problem := timeProblem(n)
					if problem == "" || simulated {
						return true
					}
					key := name
					if ok {
						key += " " + f.Name.Name
					}
					used[key] = true
					if shortBounds[key] == "" || strings.Contains(problem, "sleeps") {
						t.Errorf("%s:%d %s", name, fset.Position(n.Pos()).Line, problem)
					}
					return true
				})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	requireUsed(t, "shortBounds", shortBounds, used)
}

// timeProblem returns what is wrong with a node, or "".
func timeProblem(n ast.Node) string {
	var bound ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		switch name := types.ExprString(n.Fun); {
		case name == "time.Sleep":
			return "sleeps: wait for a state with testwait.Until, or let time pass with testwait.Pause"
		case (name == "time.After" || name == "time.NewTimer") && len(n.Args) == 1:
			bound = n.Args[0]
		case name == "context.WithTimeout" && len(n.Args) == 2:
			bound = n.Args[1]
		case name == "time.AfterFunc" && len(n.Args) == 2:
			bound = n.Args[0]
		case strings.HasSuffix(name, "Deadline") && len(n.Args) == 1:
			if add, ok := n.Args[0].(*ast.CallExpr); ok && types.ExprString(add.Fun) == "time.Now().Add" {
				bound = add.Args[0]
			}
		}
	case *ast.CompositeLit:
		if n.Type == nil || types.ExprString(n.Type) != "http.Client" {
			return ""
		}
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok && types.ExprString(kv.Key) == "Timeout" {
				bound = kv.Value
			}
		}
	}
	if d, ok := durationOf(bound); ok && d >= shortestBound && d <= longestBound {
		return "ends after " + d.String() + ", which is short on a busy machine: use testwait.Limit"
	}
	return ""
}

// durationOf returns the value of a constant such as 10*time.Second.
func durationOf(e ast.Expr) (time.Duration, bool) {
	if e == nil {
		return 0, false
	}
	text := types.ExprString(e)
	for name, unit := range map[string]time.Duration{"Hour": time.Hour, "Minute": time.Minute, "Second": time.Second, "Millisecond": time.Millisecond} {
		text = strings.ReplaceAll(text, "time."+name, strconv.FormatInt(int64(unit), 10))
	}
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
	if err != nil || v.Value == nil {
		return 0, false
	}
	d, exact := constant.Int64Val(constant.ToInt(v.Value))
	return time.Duration(d), exact
}

func isTest(name string) bool { return strings.HasPrefix(name, "Test") }

func importsPackage(file *ast.File, path string) bool {
	for _, i := range file.Imports {
		if i.Path.Value == strconv.Quote(path) {
			return true
		}
	}
	return false
}

// callsFunction reports whether a function calls another by that name.
func callsFunction(f *ast.FuncDecl, name string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && types.ExprString(call.Fun) == name {
			found = true
		}
		return !found
	})
	return found
}

// TestTimeProblems judges expressions as they occur in tests.
func TestTimeProblems(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10 * time.Second": 10 * time.Second, "time.Minute": time.Minute, "(2+3)*time.Second": 5 * time.Second, "testwait.Limit": 0, "d": 0, "time.Duration(n) * time.Second": 0,
	} {
		e, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := durationOf(e); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
