package operator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/controlplane"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
	"github.com/seed-2a7f8fe7/coder/internal/operator/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/operator/proxy"
)

// kinds are the custom resources, with the objects that each asks for.
var kinds = map[string]struct {
	make    func() client.Object
	desired func(client.Object) []client.Object
	// idle are fields that change no object, each with what it does change.
	idle map[string]string
}{
	"controlplane": {
		func() client.Object { return &v1alpha1.CoderControlPlane{} },
		func(o client.Object) []client.Object {
			c := o.(*v1alpha1.CoderControlPlane)
			rights := controlplane.Rights(c, podspec.Grant{Namespaces: controlplane.Namespaces(c)}, nil)
			if c.Spec.OperatorAccess.Disabled {
				return append(rights, controlplane.Objects(c, "")...)
			}
			return append(append(rights, controlplane.Objects(c, "token")...), controlplane.TokenSecret(c, "token"))
		},
		map[string]string{"licenseSecretRef": "a condition: nothing needs a license", "livenessProbe.successThreshold": "Kubernetes takes no other than 1"},
	},
	"provisioner": {
		func() client.Object { return &v1alpha1.CoderProvisioner{} },
		pool,
		map[string]string{
			"controlPlaneRef": "which control plane is asked", "organizationName": "where the key is made", "key.name": "the key's name at the server",
			"autoscaling": "the number of pods, by the queue: see TestReplicas",
		},
	},
	"proxy": {
		func() client.Object { return &v1alpha1.CoderWorkspaceProxy{} },
		func(o client.Object) []client.Object {
			p := o.(*v1alpha1.CoderWorkspaceProxy)
			return append(proxy.Objects(p, "checksum"), proxy.Secret(p, "id", "token"))
		},
		map[string]string{
			"bootstrap.credentialsSecretRef": "who registers", "bootstrap.proxyName": "the name at the server",
			"bootstrap.displayName": "the name for people there", "bootstrap.icon": "the picture there",
		},
	},
}

// pool returns the objects of a pool whose key is made, of a control plane that
// answers HTTPS where the pool is called secure.
func pool(o client.Object) []client.Object {
	p := o.(*v1alpha1.CoderProvisioner)
	cp := &v1alpha1.CoderControlPlane{}
	cp.Spec.Image, cp.Status.URL = "ghcr.io/seed-2a7f8fe7/coder:latest", "http://main.coder.svc.cluster.local:80"
	f := provisioner.Facts{Provisioner: p, ControlPlane: cp}
	if p.Name == "secure" {
		cp.Spec.TLS.SecretNames, cp.Spec.Certs.Secrets = []string{"cert"}, []v1alpha1.CertSecret{{Name: "corp", Key: "ca.pem"}}
		cp.Status.URL, f.Authorities = "https://main.coder.svc.cluster.local:443", "PEM"
	}
	f.Secret = provisioner.Secret(p, "secret", codersdk.ProvisionerKey{ID: uuid.MustParse("00000000-0000-0000-0000-000000000001"), Tags: p.Spec.Tags})
	replicas := int32(1)
	if p.Spec.Replicas != nil {
		replicas = *p.Spec.Replicas
	}
	return append(append(provisioner.Rights(p, podspec.Grant{Namespaces: provisioner.Namespaces(p)}, nil), f.Secret), provisioner.Workload(f, replicas)...)
}

func inputs(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	must(t, err)
	out := map[string]string{}
	for _, f := range files {
		out[f], _, _ = strings.Cut(filepath.Base(f), "-")
	}
	return out
}

func load(t *testing.T, file string, o client.Object) {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	must(t, yaml.UnmarshalStrict(b, o))
}

// TestDesired compares what resources ask for with what they asked for before.
func TestDesired(t *testing.T) {
	for file, kind := range inputs(t) {
		o := kinds[kind].make()
		load(t, file, o)
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetIndent("", "  ")
		for _, d := range kinds[kind].desired(o) {
			must(t, e.Encode(d))
		}
		golden := strings.TrimSuffix(file, ".yaml") + ".golden"
		if *update {
			must(t, os.WriteFile(golden, out.Bytes(), 0o600))
		}
		want, err := os.ReadFile(golden)
		must(t, err)
		if !bytes.Equal(want, out.Bytes()) {
			t.Errorf("%s asks for other objects than %s has; run the test with -update and look at the difference", file, golden)
		}
	}
}

// TestEveryField takes each field away that the inputs set: all fields there
// are must be set in one, and each must make a difference to some object.
func TestEveryField(t *testing.T) {
	for kind, k := range kinds {
		matters := map[string]bool{}
		for file, of := range inputs(t) {
			if of != kind {
				continue
			}
			o := k.make()
			load(t, file, o)
			whole := fmt.Sprint(text(t, k.desired(o)))
			each := fieldsOf(reflect.ValueOf(o).Elem().FieldByName("Spec"), "")
			for path, set := range each {
				matters[path] = matters[path] || false
				if !set {
					continue
				}
				less := k.make()
				load(t, file, less)
				clearField(reflect.ValueOf(less).Elem().FieldByName("Spec"), path)
				matters[path] = matters[path] || text(t, k.desired(less)) != whole
			}
		}
		for path, does := range matters {
			excused := false
			for prefix := range k.idle {
				excused = excused || path == prefix || strings.HasPrefix(path, prefix+".")
			}
			if does == excused {
				t.Errorf("%s: spec.%s changes an object: %t", kind, path, does)
			}
		}
	}
}

func text(t *testing.T, objects []client.Object) string {
	t.Helper()
	b, err := json.Marshal(objects)
	must(t, err)
	return string(b)
}

// ours reports whether a type is of the API's own, whose fields are looked into.
func ours(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasSuffix(t.PkgPath(), "api/v1alpha1")
}

// fieldsOf returns the fields below v by their path in JSON, and whether each is
// set. Lists count as one field.
func fieldsOf(v reflect.Value, prefix string) map[string]bool {
	out := map[string]bool{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		path := strings.TrimPrefix(prefix+"."+name, ".")
		if name == "" {
			path = prefix
		}
		f := v.Field(i)
		kind := f.Type()
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if !ours(kind) {
			out[path] = !f.IsZero()
			continue
		}
		inner := reflect.New(kind).Elem()
		if f.Kind() == reflect.Pointer && !f.IsNil() {
			inner = f.Elem()
		} else if f.Kind() != reflect.Pointer {
			inner = f
		}
		for p, set := range fieldsOf(inner, path) {
			out[p] = set
		}
	}
	return out
}

// clearField takes a field away.
func clearField(v reflect.Value, path string) {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		f := v.Field(i)
		rest, below := strings.CutPrefix(path, name+".")
		switch {
		case name == "":
			clearField(f, path)
		case path == name:
			f.SetZero()
		case below && f.Kind() == reflect.Pointer && !f.IsNil():
			clearField(f.Elem(), rest)
		case below && f.Kind() == reflect.Struct:
			clearField(f, rest)
		}
	}
}
