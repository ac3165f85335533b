package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// extractGo writes the comments, the help and the messages of errors of the Go files
// that a scope covers, as <file>.comments.txt and so on below tmp.
func extractGo(tmp string, scopes []scope) error {
	files, err := listed("*.go")
	if err != nil {
		return err
	}
	for _, path := range files {
		for _, kind := range []string{"comments", "help", "errors"} {
			if !slices.ContainsFunc(scopes, func(s scope) bool { return s.covers(kind, path) }) {
				continue
			}
			text, err := extract(path, kind)
			if err != nil {
				return err
			}
			if err := write(filepath.Join(tmp, path+"."+kind+".txt"), []byte(text)); err != nil {
				return err
			}
		}
	}
	return nil
}

// extract returns the comments, the help or the messages of errors of a Go file, each on
// its line. Generated files have none. Errors of tests are left out.
func extract(path, kind string) (string, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if ast.IsGenerated(file) {
		return "", nil
	}
	lines := make([]string, set.File(file.Pos()).LineCount()+1)
	put := func(s *ast.BasicLit) { place(lines, set.Position(s.Pos()).Line, unquote(s)) }
	switch kind {
	case "help":
		ast.Inspect(file, func(n ast.Node) bool { helpOf(n, put); return true })
	case "errors":
		if strings.HasSuffix(path, "_test.go") {
			return "", nil
		}
		ast.Inspect(file, func(n ast.Node) bool { errorsOf(n, put); return true })
	default:
		for _, group := range file.Comments {
			for _, c := range group.List {
				if !strings.HasPrefix(c.Text, "//go:") && !strings.HasPrefix(c.Text, "//nolint") {
					place(lines, set.Position(c.Pos()).Line, comment(c.Text))
				}
			}
		}
	}
	return strings.Join(lines[1:], "\n"), nil
}

// comment returns the text of a comment without its markers. Indented lines of
// doc comments are code and left out.
func comment(text string) string {
	if block, ok := strings.CutPrefix(text, "/*"); ok {
		return strings.TrimSuffix(block, "*/")
	}
	text = strings.TrimPrefix(text, "//")
	if strings.HasPrefix(text, "\t") {
		return ""
	}
	return strings.TrimSpace(text)
}

// place puts a text of one or more lines at a line.
func place(lines []string, at int, text string) {
	for line := range strings.Lines(text) {
		if at >= len(lines) {
			return
		}
		if lines[at] != "" {
			lines[at] += "; "
		}
		lines[at] += strings.TrimSpace(line)
		at++
	}
}

// helpFields are the fields of commands that users read.
var helpFields = []string{"Short", "Long", "Text"}

// helpOf calls each with the strings of a node that users read: fields of
// commands and examples, and the descriptions of options, which are the last
// argument of a call of package option.
func helpOf(n ast.Node, each func(*ast.BasicLit)) {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && slices.Contains(helpFields, key.Name) {
			literals(n.Value, each)
		}
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || len(n.Args) < 2 {
			return
		}
		if from, ok := f.X.(*ast.Ident); ok && (from.Name == "option" || strings.HasPrefix(f.Sel.Name, "Err")) {
			literals(n.Args[len(n.Args)-1], each)
		}
	}
}

// errorFunctions return errors. Their first string is the message or its format; that of
// Invalid is the second argument.
var errorFunctions = []string{"Errorf", "Failure", "Invalid", "New", "WithDetail"}

// errorsOf calls each with the message of an error that a node creates: in a call, or in the
// field Message.
func errorsOf(n ast.Node, each func(*ast.BasicLit)) {
	if field, ok := n.(*ast.KeyValueExpr); ok {
		if key, ok := field.Key.(*ast.Ident); ok && key.Name == "Message" {
			literals(field.Value, each)
		}
		return
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return
	}
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		if name = f.Name; name == "New" {
			return
		}
	case *ast.SelectorExpr:
		name = f.Sel.Name
		if from, ok := f.X.(*ast.Ident); name == "New" && (!ok || from.Name != "errors") {
			return
		}
	}
	if !slices.Contains(errorFunctions, name) {
		return
	}
	args, found := call.Args, false
	if name == "Invalid" && len(args) > 0 {
		args = args[1:] // without the name of the field
	}
	for _, arg := range args {
		if literals(arg, func(s *ast.BasicLit) { found = true; each(s) }); found {
			return
		}
	}
}

// literals calls each with the strings that an expression joins.
func literals(e ast.Expr, each func(*ast.BasicLit)) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			each(e)
		}
	case *ast.BinaryExpr:
		literals(e.X, each)
		literals(e.Y, each)
	}
}

func unquote(s *ast.BasicLit) string {
	text, err := strconv.Unquote(s.Value)
	if err != nil {
		return ""
	}
	return text
}
