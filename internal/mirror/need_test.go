package mirror

import (
	"fmt"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// TestTooManyNeeds checks that a list which is too long is refused, not cut.
func TestTooManyNeeds(t *testing.T) {
	n := needs{found: map[providermirror.Target]*providermirror.Need{}}
	add := func(version string) {
		target := providermirror.Target{Version: version}
		n.found[target] = &providermirror.Need{Target: target}
	}
	for i := range maxCarried {
		add(fmt.Sprintf("1.0.%d", i))
	}
	if all, err := n.list(); err != nil || len(all) != maxCarried {
		t.Fatalf("%d of %d archives, error %v", len(all), maxCarried, err)
	}
	add("2.0.0")
	if _, err := n.list(); !codersdk.Is(err, codersdk.CodeTooLarge) {
		t.Errorf("got %v, want an error", err)
	}
}
