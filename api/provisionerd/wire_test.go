package provisionerd_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// ours is where this project's own field numbers begin.
const ours = 1000

type wire struct {
	Package  string
	Messages map[string]map[string]field
	Enums    map[string]map[string]int
	Services map[string]map[string]struct{ Request, Response string }
}

type field struct {
	N                  protoreflect.FieldNumber
	Type, Label, Oneof string
}

// TestContract holds the generated messages, enums and services to the
// contract, in both directions; fields from 1000 up are additions.
func TestContract(t *testing.T) {
	b, err := os.ReadFile("../contract/provisioner-wire.json")
	if err != nil {
		t.Fatal(err)
	}
	var contract map[string]wire
	if err := json.Unmarshal(b, &contract); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]protoreflect.FileDescriptor{
		"provisionerd": provisionerd.File_api_provisionerd_provisionerd_proto,
		"provisioner":  provisioner.File_api_provisioner_provisioner_proto,
	} {
		want, ok := contract[name]
		if !ok || len(want.Messages) == 0 {
			t.Fatalf("the contract has no %s", name)
		}
		messages := map[string]bool{}
		walk(file.Messages(), "", func(path string, m protoreflect.MessageDescriptor) {
			messages[path] = true
			checkMessage(t, name, path, m, want.Messages[path])
		})
		for path := range want.Messages {
			if !messages[path] {
				t.Errorf("%s: message %s is missing", name, path)
			}
		}
		if n := len(messages); n != len(want.Messages) {
			t.Errorf("%s: %d messages, the contract has %d", name, n, len(want.Messages))
		}
		checkEnums(t, name, file, want)
		checkServices(t, name, file, want)
	}
}

func walk(ms protoreflect.MessageDescriptors, prefix string, each func(string, protoreflect.MessageDescriptor)) {
	for i := range ms.Len() {
		m := ms.Get(i)
		if m.IsMapEntry() {
			continue
		}
		path := prefix + string(m.Name())
		each(path, m)
		walk(m.Messages(), path+".", each)
	}
}

func checkMessage(t *testing.T, name, path string, m protoreflect.MessageDescriptor, want map[string]field) {
	t.Helper()
	seen := 0
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if f.Number() >= ours {
			continue
		}
		seen++
		w, ok := want[string(f.Name())]
		if !ok {
			t.Errorf("%s.%s.%s is not in the contract", name, path, f.Name())
			continue
		}
		if f.Number() != w.N {
			t.Errorf("%s.%s.%s has number %d, the contract says %d", name, path, f.Name(), f.Number(), w.N)
		}
		if got := typeOf(name, f); !sameType(got, strings.TrimPrefix(w.Type, name+".")) {
			t.Errorf("%s.%s.%s is a %s, the contract says %s", name, path, f.Name(), got, w.Type)
		}
		if got := labelOf(f); got != w.Label {
			t.Errorf("%s.%s.%s is %q, the contract says %q", name, path, f.Name(), got, w.Label)
		}
		oneof := ""
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
			oneof = string(o.Name())
		}
		if oneof != w.Oneof {
			t.Errorf("%s.%s.%s is in oneof %q, the contract says %q", name, path, f.Name(), oneof, w.Oneof)
		}
	}
	if seen != len(want) {
		t.Errorf("%s.%s has %d fields, the contract %d", name, path, seen, len(want))
	}
}

// typeOf writes a field's type as the contract does: names of the own package
// without it.
func typeOf(pkg string, f protoreflect.FieldDescriptor) string {
	if f.IsMap() {
		return "map<" + typeOf(pkg, f.MapKey()) + "," + typeOf(pkg, f.MapValue()) + ">"
	}
	full := ""
	switch f.Kind() {
	case protoreflect.MessageKind:
		full = string(f.Message().FullName())
	case protoreflect.EnumKind:
		full = string(f.Enum().FullName())
	default:
		return f.Kind().String()
	}
	return strings.TrimPrefix(full, pkg+".")
}

// sameType allows the contract to name a nested message by its last name.
func sameType(got, want string) bool {
	return got == want || strings.HasSuffix(got, "."+want)
}

func labelOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsList():
		return "repeated"
	case f.HasOptionalKeyword():
		return "optional"
	}
	return ""
}

func checkEnums(t *testing.T, name string, file protoreflect.FileDescriptor, want wire) {
	t.Helper()
	if file.Enums().Len() != len(want.Enums) {
		t.Errorf("%s has %d enums, the contract %d", name, file.Enums().Len(), len(want.Enums))
	}
	for i := range file.Enums().Len() {
		e := file.Enums().Get(i)
		values := want.Enums[string(e.Name())]
		if e.Values().Len() != len(values) {
			t.Errorf("%s.%s has %d values, the contract %d", name, e.Name(), e.Values().Len(), len(values))
		}
		for j := range e.Values().Len() {
			v := e.Values().Get(j)
			if n, ok := values[string(v.Name())]; !ok || n != int(v.Number()) {
				t.Errorf("%s.%s.%s is %d, the contract says %d (%v)", name, e.Name(), v.Name(), v.Number(), n, ok)
			}
		}
	}
}

func checkServices(t *testing.T, name string, file protoreflect.FileDescriptor, want wire) {
	t.Helper()
	if file.Services().Len() != len(want.Services) {
		t.Errorf("%s has %d services, the contract %d", name, file.Services().Len(), len(want.Services))
	}
	for i := range file.Services().Len() {
		s := file.Services().Get(i)
		calls := want.Services[string(s.Name())]
		if s.Methods().Len() != len(calls) {
			t.Errorf("%s.%s has %d calls, the contract %d", name, s.Name(), s.Methods().Len(), len(calls))
		}
		for j := range s.Methods().Len() {
			m := s.Methods().Get(j)
			side := func(d protoreflect.MessageDescriptor, stream bool) string {
				text := strings.TrimPrefix(string(d.FullName()), name+".")
				if stream {
					text = "stream " + text
				}
				return text
			}
			w := calls[string(m.Name())]
			if got := side(m.Input(), m.IsStreamingClient()); got != w.Request {
				t.Errorf("%s.%s.%s takes %s, the contract says %s", name, s.Name(), m.Name(), got, w.Request)
			}
			if got := side(m.Output(), m.IsStreamingServer()); got != w.Response {
				t.Errorf("%s.%s.%s gives %s, the contract says %s", name, s.Name(), m.Name(), got, w.Response)
			}
		}
	}
}
