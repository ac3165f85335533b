// Package section edits a marked section of a file that the user owns, such as
// ~/.ssh/config. Only the lines between the two markers are changed.
package section

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Read returns the content of a file, or "" when the file does not exist.
func Read(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}

// Find returns the text before, inside and after the section between the marker
// lines begin and end. found is false when text contains neither marker.
func Find(text, begin, end string) (before, inside, after string, found bool, err error) {
	i := strings.Index(text, begin)
	j := strings.Index(text, end)
	switch {
	case i < 0 && j < 0:
		return text, "", "", false, nil
	case i < 0 || j < i || strings.Count(text, begin) > 1 || strings.Count(text, end) > 1:
		return "", "", "", false, fmt.Errorf("the lines %q and %q must each appear once, in this order; repair the file by hand", begin, end)
	}
	inside = strings.TrimPrefix(text[i+len(begin):j], "\n")
	after = strings.TrimPrefix(text[j+len(end):], "\n")
	return text[:i], inside, after, true, nil
}

// Replace replaces the content between the marker lines. A missing section is
// appended; empty content removes the section.
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
