package controlplane

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// Route returns the HTTPRoute of a server. It is unstructured because a cluster
// may not have the kind.
func Route(c *v1alpha1.CoderControlPlane, s v1alpha1.GatewaySpec) *unstructured.Unstructured {
	meta := podspec.OwnerOf(Kind, c).Meta(Name(c), labelsOf(c))
	parents := make([]any, 0, len(s.ParentRefs))
	for _, p := range s.ParentRefs {
		ref := map[string]any{"name": p.Name}
		if p.Namespace != nil {
			ref["namespace"] = *p.Namespace
		}
		if p.SectionName != nil {
			ref["sectionName"] = *p.SectionName
		}
		parents = append(parents, ref)
	}
	_, port := backend(c)
	hosts := []any{s.Host}
	if s.WildcardHost != "" {
		hosts = append(hosts, s.WildcardHost)
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
		"spec": map[string]any{
			"parentRefs": parents, "hostnames": hosts,
			"rules": []any{map[string]any{
				"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
				"backendRefs": []any{map[string]any{"name": Name(c), "port": int64(port)}},
			}},
		},
	}}
	u.SetName(meta.Name)
	u.SetNamespace(meta.Namespace)
	u.SetLabels(meta.Labels)
	u.SetOwnerReferences(meta.OwnerReferences)
	return u
}
