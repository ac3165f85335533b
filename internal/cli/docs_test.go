package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	shellBlock  = regexp.MustCompile("(?s)```(sh|console)\n(.*?)```")
	assignment  = regexp.MustCompile(`^([A-Z_]+=('[^']*'|\S*)\s+)+`)
	commandEnd  = regexp.MustCompile(`\s(\||&&|>|#)(\s|$)`)
	shellWord   = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)
	gluedQuotes = strings.NewReplacer(`'`, "", `"`, "")
)

// documentedCommands returns the command lines of the program in the shell
// blocks of the documentation, by the file that has them.
func documentedCommands(t *testing.T) map[string][]string {
	t.Helper()
	// The pages in the root directory are named: Go's test cache compares a directory that a
	// test lists, and builds write to this one.
	files := []string{"../../README.md", "../../ARCHITECTURE.md", "../../CHANGELOG.md", "../../CONTRIBUTING.md", "../../SECURITY.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../examples/templates/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	all := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(strings.ReplaceAll(block[2], "\\\n", " ")) {
				line = strings.TrimSpace(line)
				if rest, ok := strings.CutPrefix(line, "$ "); ok {
					line = rest
				} else if block[1] == "console" {
					continue // output
				}
				if _, piped, ok := strings.Cut(line, "| coder "); ok {
					line = "coder " + piped
				}
				line = assignment.ReplaceAllString(line, "")
				if rest, ok := strings.CutPrefix(line, "coder "); ok {
					if end := commandEnd.FindStringIndex(rest); end != nil {
						rest = rest[:end[0]]
					}
					all[file] = append(all[file], rest)
				}
			}
		}
	}
	return all
}

// words splits a command line as a shell does, without expansion.
func words(line string) []string {
	var out []string
	for _, at := range shellWord.FindAllStringIndex(line, -1) {
		word := gluedQuotes.Replace(line[at[0]:at[1]])
		if at[0] > 0 && !strings.ContainsAny(line[at[0]-1:at[0]], " \t") {
			out[len(out)-1] += word
		} else {
			out = append(out, word)
		}
	}
	return out
}

// TestDocumentedCommands parses every command line of the documentation:
// commands, flags and their values exist.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	checked := 0
	for file, lines := range documentedCommands(t) {
		slices.Sort(lines)
		for _, line := range slices.Compact(lines) {
			checked++
			if strings.HasSuffix(line, "--help") {
				line = strings.TrimSpace(strings.TrimSuffix(line, "--help"))
			}
			out, errs, status := f.run("", append([]string{"--debug-options"}, words(line)...)...)
			if status != 0 || !strings.Contains(out, "--global-config") {
				t.Errorf("%s: coder %s\n  status %d: %s", strings.TrimPrefix(file, "../../"), line, status, errs)
			}
		}
	}
	if checked < 80 {
		t.Errorf("only %d command lines were found", checked)
	}
}

// TestDocumentedExplanation compares the sample output in docs/queue.md with
// what the command prints for such a job.
func TestDocumentedExplanation(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("provisioner/queue.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/queue.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"The job is pending because no connected provisioner accepts it.", "Among the jobs with these tags: ", "The closest match is ",
	} {
		if !strings.Contains(string(source), line) || !strings.Contains(string(page), line) {
			t.Errorf("%q is not in both docs/queue.md and internal/cli/provisioner/queue.go", line)
		}
	}
}
