package controlplane

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/shape"
)

// Route gives the HTTPRoute of a server. It has no type of Go's, since its
// kind is one that a cluster may lack.
func Route(c *v1alpha1.CoderControlPlane, s v1alpha1.GatewaySpec) *unstructured.Unstructured {
	meta := shape.OwnerOf(Kind, c).Meta(Name(c), labelsOf(c))
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
				"backendRefs": []any{map[string]any{"name": Name(c), "port": int64(servicePort(c))}},
			}},
		},
	}}
	u.SetName(meta.Name)
	u.SetNamespace(meta.Namespace)
	u.SetLabels(meta.Labels)
	u.SetOwnerReferences(meta.OwnerReferences)
	return u
}
