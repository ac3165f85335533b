// Package convert converts workspaces and templates to objects of the aggregated API, and
// parses the names of those.
package convert

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed-2a7f8fe7/coder/api/aggregation/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Labels of objects, for label selectors.
const (
	labelOrganization = v1alpha1.GroupName + "/organization"
	labelOwner        = v1alpha1.GroupName + "/owner"
	labelTemplate     = v1alpha1.GroupName + "/template"
)

// NameOf joins the parts of a name in lower case: Kubernetes requires it, and
// control planes ignore case.
func NameOf(parts ...string) string { return strings.ToLower(strings.Join(parts, ".")) }

// Parts returns the n parts of a name, which contain no dots.
func Parts(name string, n int) ([]string, bool) {
	all := strings.Split(name, ".")
	if len(all) != n {
		return nil, false
	}
	for _, p := range all {
		if codersdk.CheckName("name", p) != nil {
			return nil, false
		}
	}
	return all, true
}

// SameName returns CodeNotFound if the object that was found by a name has
// another one. Control planes accept aliases, such as default for the default
// organization and me for the operator's account. An object that had several
// names would never be what a client of Kubernetes applied.
func SameName(name, real string) error {
	if strings.ToLower(name) == real {
		return nil
	}
	return codersdk.Errorf(codersdk.CodeNotFound, "its name is %s; use that", real)
}

// versionOf returns the resource version of an object that changed at these
// times.
func versionOf(times ...*time.Time) string {
	var last int64
	for _, t := range times {
		if t != nil && !t.IsZero() {
			last = max(last, t.UnixNano())
		}
	}
	return strconv.FormatInt(last, 10)
}

func metaOf(namespace, name string, id uuid.UUID, made time.Time, version string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(id.String()), CreationTimestamp: metav1.NewTime(made.Truncate(time.Second)),
		ResourceVersion: version, Labels: labels,
	}
}

// Workspace converts a workspace to an object of a namespace.
func Workspace(namespace string, w codersdk.Workspace) *v1alpha1.CoderWorkspace {
	b := w.LatestBuild
	running := wantedRunning(b)
	out := &v1alpha1.CoderWorkspace{
		ObjectMeta: metaOf(namespace, NameOf(w.OrganizationName, w.OwnerName, w.Name), w.ID, w.CreatedAt,
			versionOf(&w.UpdatedAt, &b.UpdatedAt, &b.CreatedAt, b.Job.StartedAt, b.Job.CompletedAt, b.Job.CanceledAt),
			map[string]string{labelOrganization: w.OrganizationName, labelOwner: w.OwnerName, labelTemplate: w.TemplateName}),
		Spec: v1alpha1.CoderWorkspaceSpec{
			Organization: w.OrganizationName, TemplateName: w.TemplateName, TemplateVersionID: b.TemplateVersionID.String(), Running: &running,
			TTLMillis: w.TTLMS, AutostartSchedule: w.AutostartSchedule,
		},
		Status: v1alpha1.CoderWorkspaceStatus{
			ID: w.ID.String(), OwnerName: w.OwnerName, OrganizationName: w.OrganizationName, TemplateName: w.TemplateName,
			LatestBuildID: b.ID.String(), LatestBuildStatus: string(b.Status), LatestBuildError: b.Job.Error,
			AutoShutdown: timeOf(b.Deadline), LastUsedAt: timeOf(&w.LastUsedAt),
		},
	}
	return out
}

// wantedRunning reports whether a workspace runs or is starting. A failed or
// canceled build does not change the desired state.
func wantedRunning(b codersdk.WorkspaceBuild) bool {
	undone := b.Status == codersdk.WorkspaceStatusFailed || b.Status == codersdk.WorkspaceStatusCanceled
	switch b.Transition {
	case codersdk.WorkspaceTransitionStart:
		return !undone
	case codersdk.WorkspaceTransitionStop:
		return undone
	}
	return false
}

func timeOf(t *time.Time) *metav1.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}

// Template converts a template to an object of a namespace, without its
// files.
func Template(namespace string, t codersdk.Template) *v1alpha1.CoderTemplate {
	return &v1alpha1.CoderTemplate{
		ObjectMeta: metaOf(namespace, NameOf(t.OrganizationName, t.Name), t.ID, t.CreatedAt, versionOf(&t.UpdatedAt),
			map[string]string{labelOrganization: t.OrganizationName}),
		Spec: v1alpha1.CoderTemplateSpec{
			Organization: t.OrganizationName, VersionID: t.ActiveVersionID.String(), DisplayName: t.DisplayName, Description: t.Description, Icon: t.Icon,
			Running: new(!t.Deprecated),
		},
		Status: v1alpha1.CoderTemplateStatus{
			ID: t.ID.String(), OrganizationName: t.OrganizationName, ActiveVersionID: t.ActiveVersionID.String(), Deprecated: t.Deprecated,
			UpdatedAt: timeOf(&t.UpdatedAt),
		},
	}
}
