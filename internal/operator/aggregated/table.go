package aggregated

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/seed-2a7f8fe7/coder/api/aggregation/v1alpha1"
)

// column is a column of kubectl's table.
type column struct {
	metav1.TableColumnDefinition
	cell func(object) any
}

func shown[T object](name, kind, about string, priority int32, cell func(T) any) column {
	return column{metav1.TableColumnDefinition{Name: name, Type: kind, Description: about, Priority: priority}, func(o object) any {
		x, ok := o.(T)
		if !ok {
			return nil
		}
		return cell(x)
	}}
}

func nameColumn() column {
	return column{metav1.TableColumnDefinition{
		Name:        "Name",
		Type:        "string",
		Format:      "name",
		Description: "Name of the object",
	}, func(o object) any { return o.GetName() }}
}

func ageColumn() column {
	return column{metav1.TableColumnDefinition{
		Name:        "Age",
		Type:        "string",
		Description: "Time since its creation",
	}, func(o object) any { return ago(&metav1.Time{Time: o.GetCreationTimestamp().Time}) }}
}

// ago returns the time since t as kubectl formats it.
func ago(t *metav1.Time) any {
	if t == nil || t.IsZero() {
		return "<none>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

func until(t *metav1.Time) any {
	if t == nil || t.IsZero() {
		return "<none>"
	}
	return duration.HumanDuration(max(0, time.Until(t.Time)))
}

func workspaceColumns() []column {
	type w = *v1alpha1.CoderWorkspace
	return []column{
		nameColumn(),
		shown("Template", "string", "Template of the workspace", 0, func(x w) any { return x.Status.TemplateName }),
		shown("Status", "string", "Status of the latest build", 0, func(x w) any { return x.Status.LatestBuildStatus }),
		shown("Running", "boolean", "Whether the workspace should run", 0, func(x w) any { return x.Spec.Running != nil && *x.Spec.Running }),
		shown("Last used", "string", "Time since its last use", 0, func(x w) any { return ago(x.Status.LastUsedAt) }),
		ageColumn(),
		shown("Stops in", "string", "Time until autostop", 1, func(x w) any { return until(x.Status.AutoShutdown) }),
		shown("Autostart", "string", "Autostart schedule", 1, func(x w) any {
			if x.Spec.AutostartSchedule == nil {
				return "<none>"
			}
			return *x.Spec.AutostartSchedule
		}),
		shown("ID", "string", "ID at the control plane", 1, func(x w) any { return x.Status.ID }),
	}
}

func templateColumns() []column {
	type t = *v1alpha1.CoderTemplate
	return []column{
		nameColumn(),
		shown("Display name", "string", "Display name", 0, func(x t) any { return x.Spec.DisplayName }),
		shown("Deprecated", "boolean", "Whether new workspaces cannot be created from it", 0, func(x t) any { return x.Status.Deprecated }),
		shown("Updated", "string", "Time since its last change", 0, func(x t) any { return ago(x.Status.UpdatedAt) }),
		ageColumn(),
		shown("Version", "string", "ID of the active version", 1, func(x t) any { return x.Status.ActiveVersionID }),
		shown("ID", "string", "ID at the control plane", 1, func(x t) any { return x.Status.ID }),
	}
}

func labelsOf(o object) labels.Set { return o.GetLabels() }

// workspaceFields and templateFields return the fields for field selectors.
func workspaceFields(o object) fields.Set {
	w, ok := o.(*v1alpha1.CoderWorkspace)
	if !ok {
		return fields.Set{}
	}
	running := "false"
	if w.Spec.Running != nil && *w.Spec.Running {
		running = "true"
	}
	return fields.Set{
		"spec.organization": w.Spec.Organization, "spec.templateName": w.Spec.TemplateName, "spec.running": running,
		"status.ownerName": w.Status.OwnerName, "status.latestBuildStatus": w.Status.LatestBuildStatus,
	}
}

func templateFields(o object) fields.Set {
	t, ok := o.(*v1alpha1.CoderTemplate)
	if !ok {
		return fields.Set{}
	}
	return fields.Set{"spec.organization": t.Spec.Organization}
}
