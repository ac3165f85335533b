package sourcetree_test

import (
	"errors"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/sourcetree"
)

// TestVerdicts: a source is loaded once, others can be judged during a load, and a failed load
// is repeated.
func TestVerdicts(t *testing.T) {
	c := sourcetree.NewVerdicts[string](func(source, modules []byte) string { return string(source) + string(modules) })
	loads := 0
	load := func() (source, modules []byte, err error) {
		loads++
		return []byte("a"), []byte("b"), nil
	}
	want := func(key string, want int) {
		t.Helper()
		got, err := c.Read(key, load)
		if got != "ab" || err != nil || loads != want {
			t.Errorf("the verdict is %q after %d loads, want %d: %v", got, loads, want, err)
		}
	}
	failure := errors.New("no database")
	_, err := c.Read("first", func() (source, modules []byte, err error) {
		want("second", 1)
		return nil, nil, failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	for range 2 {
		want("first", 2)
	}
}
