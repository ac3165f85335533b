package kubetest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// usedRights records the rights that requests use, as "verb group/resource".
type usedRights struct {
	mu     sync.Mutex
	rights map[string]bool
}

// wrapTransport returns a transport that records the right of each request.
func (u *usedRights) wrapTransport(next http.RoundTripper) http.RoundTripper {
	return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		u.recordRequest(r)
		return next.RoundTrip(r)
	})
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// recordRequest records the rights that a request uses. The path has the form
// /api/v1/[namespaces/NS/]RESOURCE[/NAME[/SUB]], or the same with
// /apis/GROUP/VERSION instead of /api/v1.
func (u *usedRights) recordRequest(r *http.Request) {
	p := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group := ""
	switch {
	case len(p) >= 3 && p[0] == "api":
		p = p[2:]
	case len(p) >= 4 && p[0] == "apis":
		group, p = p[1], p[3:]
	default:
		return
	}
	if len(p) >= 3 && p[0] == "namespaces" {
		p = p[2:]
	}
	resource, named := p[0], len(p) > 1
	if len(p) > 2 {
		resource += "/" + p[2]
	}
	verbs := []string{strings.ToLower(r.Method)}
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		verbs[0] = "watch"
	case r.Method == http.MethodGet && !named:
		verbs[0] = "list"
	case r.Method == http.MethodPost:
		verbs[0] = "create"
	case r.Method == http.MethodPut:
		verbs[0] = "update"
	case r.Header.Get("Content-Type") == "application/apply-patch+yaml" || r.Header.Get("Content-Type") == "application/apply-patch+cbor":
		verbs = append(verbs, "create") // a server-side apply needs both verbs
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, v := range verbs {
		u.rights[v+" "+group+"/"+resource] = true
	}
}

// Unused returns the rights of roles that no client of Operator or AggregatedServer
// has used, sorted. A role of the form namespace/name is a Role, any other is a
// ClusterRole.
//
// Unused omits two kinds of rights. Kubernetes does not check rights to the
// subresource finalizers by request path. Events of leader elections are sent in the
// background, and patched only if they repeat.
func (c *Cluster) Unused(ctx context.Context, roles ...string) ([]string, error) {
	var rules []rbacv1.PolicyRule
	for _, role := range roles {
		namespace, name, ok := strings.Cut(role, "/")
		namespaced, key := &rbacv1.Role{}, client.ObjectKey{Namespace: namespace, Name: name}
		if !ok {
			clusterRole := &rbacv1.ClusterRole{}
			if err := c.Client.Get(ctx, client.ObjectKey{Name: role}, clusterRole); err != nil {
				return nil, fmt.Errorf("read the ClusterRole %s: %w", role, err)
			}
			rules = append(rules, clusterRole.Rules...)
		} else if err := c.Client.Get(ctx, key, namespaced); err != nil {
			return nil, fmt.Errorf("read the Role %s: %w", role, err)
		}
		rules = append(rules, namespaced.Rules...)
	}
	c.usedRights.mu.Lock()
	defer c.usedRights.mu.Unlock()
	var out []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					right := verb + " " + group + "/" + resource
					exempt := strings.HasSuffix(resource, "/finalizers") || group == "" && resource == "events"
					if !c.usedRights.rights[right] && !exempt {
						out = append(out, right)
					}
				}
			}
		}
	}
	slices.Sort(out)
	return out, nil
}
