// Prose checks the language of the project with Vale: Markdown pages, Go
// comments, messages of errors, CLI help and the dashboard's strings. Run it at the root:
//
//	prose -vale PROGRAM [-warn] [-strings DIR] [KIND DIRECTORY]
//
// It writes comments, help and strings to text files in which each line has the
// number that it has in its source. -strings names a directory with the
// dashboard's, as web/strings.mjs writes them. It checks all of these and the
// Markdown pages, or one kind (comments, help, errors or ui) in one directory.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const config = "tools/prose/vale.ini"

// scope selects files of one kind: "comments", "help", "errors" or "ui".
type scope struct{ kind, dir string }

// covers reports whether path is in the scope's directory; a directory that
// ends with /... includes those below.
func (s scope) covers(kind, path string) bool {
	if s.kind != kind {
		return false
	}
	dir := filepath.ToSlash(filepath.Dir(path))
	if base, ok := strings.CutSuffix(s.dir, "..."); ok {
		return strings.HasPrefix(dir+"/", base)
	}
	return dir == s.dir
}

func main() {
	vale := flag.String("vale", "vale", "path of the program vale")
	warn := flag.Bool("warn", false, "print warnings, such as long sentences")
	stringsDir := flag.String("strings", "", "directory of the dashboard's strings")
	flag.Parse()
	found, err := run(*vale, *stringsDir, *warn, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(2)
	}
	if found {
		os.Exit(1)
	}
}

// run checks everything and reports whether it found an error.
func run(vale, stringsDir string, warn bool, args []string) (bool, error) {
	scopes, pages, err := selected(args)
	if err != nil {
		return false, err
	}
	tmp, err := os.MkdirTemp("", "prose")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)
	if err := extractGo(tmp, scopes); err != nil {
		return false, err
	}
	if stringsDir != "" {
		if err := copyStrings(tmp, stringsDir, scopes); err != nil {
			return false, err
		}
	}
	alerts, err := check(vale, append(pages, tmp))
	if err != nil {
		return false, err
	}
	return report(alerts, tmp, warn), nil
}

// selected returns the scopes and the Markdown files to check.
func selected(args []string) ([]scope, []string, error) {
	if len(args) == 2 {
		return []scope{{args[0], args[1]}}, nil, nil
	} else if len(args) != 0 {
		return nil, nil, fmt.Errorf("want no argument, or a kind and a directory")
	}
	pages, err := listed("*.md")
	return []scope{{"comments", "..."}, {"help", "..."}, {"errors", "..."}, {"ui", "..."}}, pages, err
}

// listed returns the files of the repository that match a pattern and exist.
func listed(pattern string) ([]string, error) {
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", pattern).Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of the repository: %w", err)
	}
	var files []string
	for path := range strings.Lines(string(out)) {
		path = strings.TrimSpace(path)
		if _, err := os.Stat(path); err == nil && !strings.Contains(path, "testdata/") {
			files = append(files, path)
		}
	}
	return files, nil
}

// copyStrings copies the dashboard's strings that a scope covers.
func copyStrings(tmp, dir string, scopes []scope) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		source, err := filepath.Rel(dir, strings.TrimSuffix(path, ".txt"))
		if err != nil || !slices.ContainsFunc(scopes, func(s scope) bool { return s.covers("ui", source) }) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return write(filepath.Join(tmp, source+".txt"), text)
	})
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// alert is a finding of Vale.
type alert struct {
	Check, Message, Severity string
	Line                     int
	path                     string
}

// check runs Vale on files and directories.
func check(vale string, paths []string) ([]alert, error) {
	cmd := exec.Command(vale, append([]string{"--config", config, "--output=JSON"}, paths...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	byFile := map[string][]alert{}
	if jsonErr := json.Unmarshal(out, &byFile); jsonErr != nil {
		return nil, fmt.Errorf("run %s: %v: %s", vale, err, out)
	}
	var all []alert
	for path, found := range byFile {
		for _, a := range found {
			a.path = path
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b alert) int {
		if c := strings.Compare(a.path, b.path); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return all, nil
}

// report prints alerts with the paths of their sources and reports whether one
// is an error.
func report(alerts []alert, tmp string, warn bool) (failed bool) {
	for _, a := range alerts {
		if a.Severity == "error" {
			failed = true
		} else if !warn {
			continue
		}
		path := strings.TrimPrefix(a.path, tmp+"/")
		for _, suffix := range []string{".txt", ".comments", ".help", ".errors"} {
			path = strings.TrimSuffix(path, suffix)
		}
		fmt.Printf("%s:%d: %s (%s)\n", path, a.Line, a.Message, a.Check)
	}
	return failed
}
