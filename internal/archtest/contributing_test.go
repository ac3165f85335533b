package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	codeSpan    = regexp.MustCompile("`([^`]+)`")
	testName    = regexp.MustCompile(`^Test[A-Z][A-Za-z]*$`)
	treePath    = regexp.MustCompile(`^(api|codersdk|deploy|docs|e2e|internal|tools|web)/[^ *]*$`)
	placeholder = regexp.MustCompile(`<[a-zA-Z]+>`)
	makeTarget  = regexp.MustCompile(`^make ([a-z-]+)( |$)`)
	testCommand = regexp.MustCompile(`^go test \./(\S+) -run (\w+)`)
)

// TestContributingNamesWhatExists compares CONTRIBUTING.md and the page about
// tests with the tree: each test, path, make target and test command in them
// exists. A placeholder such as <noun> stands for at least one existing name.
func TestContributingNamesWhatExists(t *testing.T) {
	tests, err := exec.Command("git", "-C", "../..", "grep", "-hoE", "^func Test[A-Za-z]+", "--", "*_test.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"CONTRIBUTING.md", "docs/testing.md"} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codeSpan.FindAllStringSubmatch(codeBlock.ReplaceAllString(string(text), ""), -1) {
			name := m[1]
			if testName.MatchString(name) && !strings.Contains(string(tests)+"\n", "func "+name+"\n") {
				t.Errorf("%s names the test %s, which does not exist", page, name)
			}
			if treePath.MatchString(name) && !exists(t, placeholder.ReplaceAllString(name, "*")) {
				t.Errorf("%s names %s, which does not exist", page, name)
			}
			if target := makeTarget.FindStringSubmatch(name); target != nil && !strings.Contains("\n"+string(makefile), "\n"+target[1]+":") {
				t.Errorf("%s names %q, which is no target of the Makefile", page, name)
			}
			if c := testCommand.FindStringSubmatch(name); c != nil && !hasTest(t, c[1], c[2]) {
				t.Errorf("%s: %q runs no test", page, name)
			}
		}
	}
}

// exists reports whether a path or a pattern matches a file of the repository.
func exists(t *testing.T, pattern string) bool {
	t.Helper()
	found, err := filepath.Glob("../../" + strings.TrimSuffix(pattern, "/"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found) > 0
}

// hasTest reports whether the package in dir has a test whose name contains
// part.
func hasTest(t *testing.T, dir, part string) bool {
	t.Helper()
	if !exists(t, dir) || placeholder.MatchString(dir) {
		return placeholder.MatchString(dir)
	}
	out, _ := exec.Command("git", "-C", "../..", "grep", "-lE", "^func (Test|Benchmark)[A-Za-z]*"+strings.TrimPrefix(part, "Test"), "--", dir+"/*_test.go").Output()
	return len(out) > 0
}
