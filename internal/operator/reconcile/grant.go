package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// GrantAgain is how often the labels of other namespaces are read. The operator
// may not be permitted to watch them.
const GrantAgain = 2 * time.Minute

// Refusal explains why other namespaces have no permissions; its zero value
// means that all have.
type Refusal struct{ Reason, Message string }

// Grant returns which of the wanted namespaces allow workspaces of the
// namespace from, and why the others do not. A namespace allows them by a
// label, which only users who can edit that namespace can set.
func (c Config) Grant(ctx context.Context, from string, wanted []string) (podspec.Grant, Refusal, error) {
	g := podspec.Grant{ExtraRules: slices.Contains(c.CrossRules, from)}
	reason := "NotAllowed"
	var refused []string
	label := podspec.LabelAllow + from
	for _, name := range wanted {
		ns := &corev1.Namespace{}
		err := c.Live.Get(ctx, client.ObjectKey{Name: name}, ns)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			reason = "Refused"
			refused = append(refused, err.Error())
		case err != nil:
			return g, Refusal{}, err
		case ns.Labels[label] == "true":
			g.Namespaces = append(g.Namespaces, name)
		default:
			refused = append(refused, fmt.Sprintf(
				"namespace %q does not allow workspaces of namespace %q; if it should, run 'kubectl label namespace %s %s=true'", name, from, name, label))
		}
	}
	if len(refused) == 0 {
		return g, Refusal{}, nil
	}
	return g, Refusal{Reason: reason, Message: strings.Join(refused, "; ")}, nil
}
