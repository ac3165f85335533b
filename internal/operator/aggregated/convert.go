package aggregated

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/aggregation/v1alpha1"
)

// Labels that objects have, to select them by.
const (
	labelOrganization = v1alpha1.GroupName + "/organization"
	labelOwner        = v1alpha1.GroupName + "/owner"
	labelTemplate     = v1alpha1.GroupName + "/template"
)

// nameOf joins the parts of a name. Names in Kubernetes are in lower case, and
// those of the control plane the same whatever their case.
func nameOf(parts ...string) string { return strings.ToLower(strings.Join(parts, ".")) }

// parts gives the n parts of a name, none of which has a dot in it.
func parts(name string, n int) ([]string, bool) {
	all := strings.Split(name, ".")
	if len(all) != n {
		return nil, false
	}
	for _, p := range all {
		if coder.CheckName("name", p) != nil {
			return nil, false
		}
	}
	return all, true
}

// versionOf is the resource version of what changed at any of these times.
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

// workspaceOf shows a workspace as an object of a namespace.
func workspaceOf(namespace string, w coder.Workspace) *v1alpha1.CoderWorkspace {
	b := w.LatestBuild
	running := wantedRunning(b)
	out := &v1alpha1.CoderWorkspace{
		ObjectMeta: metaOf(namespace, nameOf(w.OrganizationName, w.OwnerName, w.Name), w.ID, w.CreatedAt,
			versionOf(&w.UpdatedAt, &b.UpdatedAt, &b.CreatedAt, b.Job.StartedAt, b.Job.CompletedAt, b.Job.CanceledAt),
			map[string]string{labelOrganization: w.OrganizationName, labelOwner: w.OwnerName, labelTemplate: w.TemplateName}),
		Spec: v1alpha1.CoderWorkspaceSpec{
			Organization: w.OrganizationName, TemplateName: w.TemplateName, TemplateVersionID: b.TemplateVersionID.String(), Running: &running,
			TTLMillis: w.TTLMS, AutostartSchedule: w.AutostartSchedule,
		},
		Status: v1alpha1.CoderWorkspaceStatus{
			ID: w.ID.String(), OwnerName: w.OwnerName, OrganizationName: w.OrganizationName, TemplateName: w.TemplateName,
			LatestBuildID: b.ID.String(), LatestBuildStatus: string(b.Status), AutoShutdown: timeOf(b.Deadline), LastUsedAt: timeOf(&w.LastUsedAt),
		},
	}
	return out
}

// wantedRunning says whether a workspace runs, or is on the way there. What a
// build failed to do, or was kept from doing, is not what is wanted any more.
func wantedRunning(b coder.WorkspaceBuild) bool {
	undone := b.Status == coder.WorkspaceStatusFailed || b.Status == coder.WorkspaceStatusCanceled
	switch b.Transition {
	case coder.WorkspaceTransitionStart:
		return !undone
	case coder.WorkspaceTransitionStop:
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

// templateOf shows a template as an object of a namespace, without its files.
func templateOf(namespace string, t coder.Template) *v1alpha1.CoderTemplate {
	return &v1alpha1.CoderTemplate{
		ObjectMeta: metaOf(namespace, nameOf(t.OrganizationName, t.Name), t.ID, t.CreatedAt, versionOf(&t.UpdatedAt), map[string]string{labelOrganization: t.OrganizationName}),
		Spec: v1alpha1.CoderTemplateSpec{
			Organization: t.OrganizationName, VersionID: t.ActiveVersionID.String(), DisplayName: t.DisplayName, Description: t.Description, Icon: t.Icon,
			Running: new(!t.Deprecated),
		},
		Status: v1alpha1.CoderTemplateStatus{
			ID: t.ID.String(), OrganizationName: t.OrganizationName, ActiveVersionID: t.ActiveVersionID.String(), Deprecated: t.Deprecated, UpdatedAt: timeOf(&t.UpdatedAt),
		},
	}
}
