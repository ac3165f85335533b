package mcphttp

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// maxEvents is the maximum number of events of a result.
const maxEvents = 1000

type eventsInput struct {
	Namespace string `json:"namespace" jsonschema:"Namespace of the object" min:"1" max:"63"`
	Name      string `json:"name,omitempty" jsonschema:"Name of the object; all objects of the namespace if absent" max:"253"`
	Limit     int    `json:"limit,omitempty" jsonschema:"Maximum number of events" min:"1" max:"1000" default:"100"`
}

type event struct {
	Object  string `json:"object"`
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Count   int32  `json:"count,omitempty"`
	Last    string `json:"last"`
}

func listEvents(ctx context.Context, c *caller, in eventsInput) ([]event, error) {
	options := metav1.ListOptions{Limit: maxEvents}
	if in.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector("involvedObject.name", in.Name).String()
	}
	list, err := c.objects.Resource(corev1.SchemeGroupVersion.WithResource("events")).Namespace(in.Namespace).List(ctx, options)
	if err != nil {
		return nil, explain(err)
	}
	events := make([]corev1.Event, len(list.Items))
	for i := range list.Items {
		if err := convert(&list.Items[i], &events[i]); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return lastTime(b).Compare(lastTime(a)) })
	out := []event{}
	for _, e := range events[:min(len(events), in.Limit)] {
		out = append(out, event{
			Object: e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name, Type: e.Type, Reason: e.Reason, Message: e.Message, Count: e.Count,
			Last: lastTime(e).UTC().Format(time.RFC3339),
		})
	}
	return out, nil
}

// lastTime returns when an event was reported last. Which field has it depends on
// the API with which it was reported.
func lastTime(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}
