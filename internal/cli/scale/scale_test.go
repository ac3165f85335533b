package scale

import (
	"slices"
	"testing"
)

func TestSlice(t *testing.T) {
	t.Parallel()
	all := []int{0, 1, 2, 3}
	for text, want := range map[string][]int{"": all, "0:4": all, "1:3": {1, 2}, "3:4": {3}} {
		if got, err := slice(all, "target-users", text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"1", "3:3", "2:1", "-1:2", "0:5", "a:b", ":"} {
		if got, err := slice(all, "target-users", text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestParseOutputs(t *testing.T) {
	t.Parallel()
	got, err := parseOutputs([]string{"text", "json:a:b.json", "markdown:r.md"})
	if err != nil || !slices.Equal(got, []output{{"text", ""}, {"json", "a:b.json"}, {"markdown", "r.md"}}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := parseOutputs([]string{"yaml"}); err == nil {
		t.Error("an unknown form passes")
	}
}
