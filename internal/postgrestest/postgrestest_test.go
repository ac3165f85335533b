package postgrestest

import (
	"testing"

	"github.com/google/uuid"
)

func TestEachTestHasItsOwn(t *testing.T) {
	a, b := New(t), New(t)
	ida, err := a.EnsureDeployment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	idb, err := b.EnsureDeployment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if ida == idb || ida == uuid.Nil {
		t.Fatalf("databases share a row: %v and %v", ida, idb)
	}
}

func BenchmarkClone(b *testing.B) {
	for b.Loop() {
		URL(b)
	}
}
