package savedplan

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// issued are the fields that differ between builds with the same plan. A field that is added
// to this list must not be readable by a template that package ahead admits.
var issued = []string{
	"workspace_build_id", "external_auth_providers", "saved_plan", "metadata.workspace_build_id", "metadata.workspace_owner_session_token",
	"metadata.workspace_owner_oidc_access_token",
}

// fill sets every field of a message to a random value.
func fill(r *rand.Rand, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		change(r, m, fields.Get(i))
	}
}

// change sets a field to another value.
func change(r *rand.Rand, m protoreflect.Message, f protoreflect.FieldDescriptor) {
	switch {
	case f.IsMap():
		m.Mutable(f).Map().Set(protoreflect.ValueOfString(fmt.Sprint(r.Int())).MapKey(), protoreflect.ValueOfString("x"))
	case f.IsList():
		l := m.Mutable(f).List()
		if f.Message() == nil {
			l.Append(scalar(r, f, protoreflect.Value{}))
			return
		}
		fill(r, l.AppendMutable().Message())
	case f.Message() != nil:
		fill(r, m.Mutable(f).Message())
	default:
		m.Set(f, scalar(r, f, m.Get(f)))
	}
}

// scalar returns a random value other than old.
func scalar(r *rand.Rand, f protoreflect.FieldDescriptor, old protoreflect.Value) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprint("text ", r.Int()))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(fmt.Append(nil, r.Int()))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(!old.IsValid() || !old.Bool())
	case protoreflect.EnumKind:
		n := f.Enum().Values().Len()
		if !old.IsValid() {
			return protoreflect.ValueOfEnum(1)
		}
		return protoreflect.ValueOfEnum((old.Enum() + 1) % protoreflect.EnumNumber(n))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(r.Int32())
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(r.Int64())
	}
	panic("a kind of field that this test does not know: " + f.Kind().String())
}

// mutate changes one random field of the inputs, at any depth, and returns its path from the top.
func mutate(r *rand.Rand, m protoreflect.Message, path string) string {
	fields := m.Descriptor().Fields()
	f := fields.Get(r.IntN(fields.Len()))
	path += string(f.Name())
	if f.IsList() && f.Message() != nil && m.Get(f).List().Len() > 0 && r.IntN(2) == 0 {
		l := m.Mutable(f).List()
		return mutate(r, l.Get(r.IntN(l.Len())).Message(), path+".")
	}
	if !f.IsList() && !f.IsMap() && f.Message() != nil && r.IntN(10) > 0 {
		return mutate(r, m.Mutable(f).Message(), path+".")
	}
	change(r, m, f)
	return path
}

// TestEveryChangeOfAnInputChangesTheKey changes one field after the other of the inputs of a
// build, at random: the key differs unless the field is issued for each build.
func TestEveryChangeOfAnInputChangesTheKey(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	source := []byte("source")
	b := &provisionerd.AcquiredJob_WorkspaceBuild{}
	fill(r, b.ProtoReflect())
	seen := map[string]bool{}
	for range 2000 {
		before, changed := Key(source, b), proto.CloneOf(b)
		path := mutate(r, changed.ProtoReflect(), "")
		seen[path] = true
		free := slices.ContainsFunc(issued, func(f string) bool { return path == f || len(path) > len(f) && path[:len(f)+1] == f+"." })
		if same := bytes.Equal(before, Key(source, changed)); same != free {
			t.Errorf("after a change of %s the key is the same: %t, want %t", path, same, free)
		}
		if proto.Equal(b, changed) {
			t.Fatalf("%s did not change", path)
		}
		b = changed
	}
	for _, f := range issued {
		if !seen[f] && f != "external_auth_providers" {
			t.Errorf("%s was never changed", f)
		}
	}
	if bytes.Equal(Key(source, b), Key([]byte("other"), b)) {
		t.Error("another source has the same key")
	}
}

// TestStripRemovesTokens checks that nothing that is issued for one build is sent for a plan
// that is kept.
func TestStripRemovesTokens(t *testing.T) {
	b := &provisionerd.AcquiredJob_WorkspaceBuild{
		SavedPlan: []byte("plan"), ExternalAuthProviders: []*provisioner.ExternalAuthProvider{{Id: "github", AccessToken: "token"}},
		Metadata: &provisioner.Metadata{WorkspaceOwnerSessionToken: "token", WorkspaceOwnerOidcAccessToken: "token", WorkspaceName: "dev"},
	}
	Key(nil, b)
	if b.Metadata.WorkspaceOwnerSessionToken == "" {
		t.Error("Key changed its argument")
	}
	Strip(b)
	if want := (&provisionerd.AcquiredJob_WorkspaceBuild{Metadata: &provisioner.Metadata{WorkspaceName: "dev"}}); !proto.Equal(b, want) {
		t.Errorf("got %v", b)
	}
}
