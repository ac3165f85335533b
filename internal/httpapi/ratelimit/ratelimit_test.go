package ratelimit

import (
	"testing"

	"github.com/google/uuid"
)

func TestMemoryIsBounded(t *testing.T) {
	l := New(1)
	for range maxLimited + 10 {
		_ = l.Allow(uuid.NewString())
	}
	if len(l.newer)+len(l.older) > 2*maxLimited {
		t.Error("the limiter grows without bound")
	}
}

func TestAllowKey(t *testing.T) {
	l := New(0)
	for i := range 3 {
		if err := l.AllowKey("tokens of an address", 2); (err != nil) != (i == 2) {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if err := l.AllowKey("tokens of another address", 2); err != nil {
		t.Error(err)
	}
	if err := New(-1).AllowKey("tokens", 0); err != nil {
		t.Error(err)
	}
}
