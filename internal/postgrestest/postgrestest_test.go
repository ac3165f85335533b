package postgrestest

import (
	"testing"

	"github.com/google/uuid"
)

func TestEachTestHasItsOwnDatabase(t *testing.T) {
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
		t.Fatalf("two databases have the deployment IDs %v and %v, want different ones", ida, idb)
	}
}

func BenchmarkClone(b *testing.B) {
	for b.Loop() {
		URL(b)
	}
}
