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

// used records the rights that requests use, as "verb group/resource".
type used struct {
	mu  sync.Mutex
	all map[string]bool
}

func (u *used) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		u.note(r)
		return next.RoundTrip(r)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// note records the right that a request uses. A path is
// /api/v1/[namespaces/NS/]RESOURCE[/NAME[/SUB]], or has /apis/GROUP/VERSION in
// the place of /api/v1.
func (u *used) note(r *http.Request) {
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
		verbs = append(verbs, "create") // an apply needs both
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, v := range verbs {
		u.all[v+" "+group+"/"+resource] = true
	}
}

// Unused returns the rights of roles that neither Operator nor AggregatedServer
// has used, sorted. A role is a ClusterRole, or a Role if it has the form
// namespace/name. Rights that Kubernetes checks elsewhere than in a request's path
// are left out: those of the subresource finalizers. So are those over the events of
// leader elections, which are sent in the background and patched when they repeat.
func (c *Cluster) Unused(ctx context.Context, roles ...string) ([]string, error) {
	var rules []rbacv1.PolicyRule
	for _, role := range roles {
		namespace, name, ok := strings.Cut(role, "/")
		of, key := &rbacv1.Role{}, client.ObjectKey{Namespace: namespace, Name: name}
		if !ok {
			whole := &rbacv1.ClusterRole{}
			if err := c.Client.Get(ctx, client.ObjectKey{Name: role}, whole); err != nil {
				return nil, fmt.Errorf("read the ClusterRole %s: %w", role, err)
			}
			rules = append(rules, whole.Rules...)
		} else if err := c.Client.Get(ctx, key, of); err != nil {
			return nil, fmt.Errorf("read the Role %s: %w", role, err)
		}
		rules = append(rules, of.Rules...)
	}
	c.used.mu.Lock()
	defer c.used.mu.Unlock()
	var out []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					right := verb + " " + group + "/" + resource
					elsewhere := strings.HasSuffix(resource, "/finalizers") || group == "" && resource == "events"
					if !c.used.all[right] && !elsewhere {
						out = append(out, right)
					}
				}
			}
		}
	}
	slices.Sort(out)
	return out, nil
}
