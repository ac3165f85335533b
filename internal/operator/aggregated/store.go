package aggregated

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
)

// store serves lists and watches of one kind. workspaces and templates embed it
// and add the rest.
type store struct {
	*collection
	log      *slog.Logger
	list     func() runtime.Object
	singular string
	columns  []column
	// attributes are the fields for field selectors, in addition to name and
	// namespace.
	attributes func(object) fields.Set
}

// New, NewList, Destroy, NamespaceScoped and GetSingularName describe the
// resource to the library.
func (s *store) New() runtime.Object     { return s.empty() }
func (s *store) NewList() runtime.Object { return s.list() }
func (s *store) Destroy()                {}
func (s *store) NamespaceScoped() bool   { return true }
func (s *store) GetSingularName() string { return s.singular }
func (s *store) Categories() []string    { return []string{"coder"} }

// resume is where the next page of a list starts.
type resume struct {
	Version uint64 `json:"v"`
	After   string `json:"a"`
}

// List lists the objects of one namespace or of all. (OP-20)
func (s *store) List(ctx context.Context, o *internalversion.ListOptions) (runtime.Object, error) {
	if o == nil {
		o = &internalversion.ListOptions{}
	}
	namespace := genericapirequest.NamespaceValue(ctx)
	namespaces, err := s.scope(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var from resume
	if o.Continue != "" {
		b, err := base64.RawURLEncoding.DecodeString(o.Continue)
		if err != nil || json.Unmarshal(b, &from) != nil {
			return nil, apierrors.NewBadRequest("the continue token was not issued by this server; list from the beginning")
		}
	}
	if err := s.fresh(ctx, namespace, namespaces, o.Continue != ""); err != nil {
		return nil, err
	}
	all, version := s.known(namespaces)
	if from.Version != 0 {
		version = from.Version // so that a watch from it reports changes between the pages
	}
	matches := s.matcher(o)
	all = slices.DeleteFunc(all, func(x object) bool { return keyOf(x) <= from.After || !matches(x) })
	out := s.list()
	m, err := meta.ListAccessor(out)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion(format(version))
	if o.Limit > 0 && int64(len(all)) > o.Limit {
		left := int64(len(all)) - o.Limit
		all = all[:o.Limit]
		b, err := json.Marshal(resume{Version: version, After: keyOf(all[len(all)-1])})
		if err != nil {
			return nil, err
		}
		m.SetContinue(base64.RawURLEncoding.EncodeToString(b))
		m.SetRemainingItemCount(&left)
	}
	items := make([]runtime.Object, len(all))
	for i, x := range all {
		items[i] = x.DeepCopyObject()
	}
	return out, meta.SetList(out, items)
}

// maxSyncs bounds the namespaces that one request reads at the same time.
const maxSyncs = 8

// fresh reads namespaces again. In a list of all namespaces, a namespace whose
// control plane cannot be read is shown as last read, or left out if it was
// never read, with a warning. The request fails if that is so of every
// namespace.
func (s *store) fresh(ctx context.Context, namespace string, namespaces []string, known bool) error {
	failures := make([]error, len(namespaces))
	var running sync.WaitGroup
	turn := make(chan struct{}, maxSyncs)
	for i, n := range namespaces {
		if known && s.read1(n) {
			continue // a later page
		}
		turn <- struct{}{}
		running.Go(func() {
			defer func() { <-turn }()
			_, failures[i] = s.sync(ctx, n)
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	var first error
	left := 0
	for i, n := range namespaces {
		err := failures[i]
		if err == nil {
			continue
		}
		if refused := s.refuse("", err); namespace != "" {
			return refused
		} else if first == nil {
			first = refused
		}
		shown := "shown as last read"
		if !s.read1(n) {
			shown = "left out"
			left++
		}
		warning.AddWarning(ctx, "", fmt.Sprintf("namespace %s is %s: %s", n, shown, err))
	}
	if left > 0 && left == len(namespaces) {
		return first
	}
	return nil
}

// read1 reports whether a namespace was ever read.
func (s *store) read1(namespace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.feeds[namespace]
	return f != nil && f.start != 0
}

// matcher returns the predicate of a request's selectors.
func (s *store) matcher(o *internalversion.ListOptions) func(object) bool {
	return func(x object) bool {
		if o.LabelSelector != nil && !o.LabelSelector.Matches(labelsOf(x)) {
			return false
		}
		if o.FieldSelector == nil || o.FieldSelector.Empty() {
			return true
		}
		set := s.attributes(x)
		set["metadata.name"], set["metadata.namespace"] = x.GetName(), x.GetNamespace()
		return o.FieldSelector.Matches(set)
	}
}

// Watch streams changes. (OP-23)
func (s *store) Watch(ctx context.Context, o *internalversion.ListOptions) (watch.Interface, error) {
	if o == nil {
		o = &internalversion.ListOptions{}
	}
	version, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	namespace := genericapirequest.NamespaceValue(ctx)
	namespaces, err := s.scope(ctx, namespace)
	if err != nil {
		return nil, err
	}
	at := start{version: version, initial: version == 0, bookmarks: o.AllowWatchBookmarks}
	if o.SendInitialEvents != nil {
		at.initial = *o.SendInitialEvents
		at.bookmark = at.initial && o.AllowWatchBookmarks
	}
	if err := s.fresh(ctx, namespace, namespaces, !at.initial); err != nil {
		return nil, err
	}
	return s.watch(ctx, namespace, namespaces, s.matcher(o), at)
}

// ConvertToTable returns the columns that kubectl shows.
func (s *store) ConvertToTable(_ context.Context, o runtime.Object, options runtime.Object) (*metav1.Table, error) {
	t := &metav1.Table{}
	if opts, ok := options.(*metav1.TableOptions); !ok || !opts.NoHeaders {
		for _, c := range s.columns {
			t.ColumnDefinitions = append(t.ColumnDefinitions, c.TableColumnDefinition)
		}
	}
	row := func(o runtime.Object) error {
		x, ok := o.(object)
		if !ok {
			return fmt.Errorf("%T is not an object of this API", o)
		}
		var cells []any
		for _, c := range s.columns {
			cells = append(cells, c.cell(x))
		}
		t.Rows = append(t.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: o}})
		return nil
	}
	if !meta.IsListType(o) {
		if x, ok := o.(object); ok {
			t.ResourceVersion = x.GetResourceVersion()
		}
		return t, row(o)
	}
	m, err := meta.ListAccessor(o)
	if err != nil {
		return nil, err
	}
	t.ResourceVersion, t.Continue, t.RemainingItemCount = m.GetResourceVersion(), m.GetContinue(), m.GetRemainingItemCount()
	return t, meta.EachListItem(o, row)
}

// unkept warns about metadata that control planes cannot store. It is silent about
// the annotation that kubectl apply adds to every object.
func unkept(ctx context.Context, given, kept metav1.Object) {
	var lost []string
	for k := range given.GetAnnotations() {
		if k != corev1.LastAppliedConfigAnnotation {
			lost = append(lost, "annotations")
			break
		}
	}
	for k, v := range given.GetLabels() {
		if kept == nil || kept.GetLabels()[k] != v {
			lost = append(lost, "labels")
			break
		}
	}
	if len(given.GetFinalizers()) > 0 {
		lost = append(lost, "finalizers")
	}
	if len(given.GetOwnerReferences()) > 0 {
		lost = append(lost, "ownerReferences")
	}
	if len(lost) > 0 {
		warning.AddWarning(ctx, "", "not stored, because control planes do not support them: "+strings.Join(lost, ", "))
	}
}
