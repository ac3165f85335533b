// Package section edits what the command line keeps in files that people own,
// such as ~/.ssh/config: the lines between two markers are ours, all others theirs.
package section

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Read reads a file that may be absent.
func Read(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}

// Find gives the lines between the marker lines begin and end in text: what
// is before, inside, and after. found is false when there are no markers.
func Find(text, begin, end string) (before, inside, after string, found bool, err error) {
	i := strings.Index(text, begin)
	j := strings.Index(text, end)
	switch {
	case i < 0 && j < 0:
		return text, "", "", false, nil
	case i < 0 || j < i || strings.Count(text, begin) > 1 || strings.Count(text, end) > 1:
		return "", "", "", false, fmt.Errorf("the lines %q and %q are not there once each, in this order; repair it by hand", begin, end)
	}
	inside = strings.TrimPrefix(text[i+len(begin):j], "\n")
	after = strings.TrimPrefix(text[j+len(end):], "\n")
	return text[:i], inside, after, true, nil
}

// Replace puts content between the marker lines, which are added at the
// end when they are not there. Empty content removes the section.
func Replace(text, begin, end, content string) (string, error) {
	before, _, after, found, err := Find(text, begin, end)
	if err != nil {
		return "", err
	}
	if !found && before != "" && content != "" {
		before = strings.TrimRight(before, "\n") + "\n\n"
	}
	if content == "" {
		return strings.TrimRight(before, "\n") + strings.Repeat("\n", min(1, len(strings.TrimSpace(before)))) + after, nil
	}
	return before + begin + "\n" + strings.TrimRight(content, "\n") + "\n" + end + "\n" + after, nil
}
