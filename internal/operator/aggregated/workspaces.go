package aggregated

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/seed-2a7f8fe7/coder/api/aggregation/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/aggregated/convert"
)

// Bounds of reads and hints.
const (
	pageSize       = 1000
	maxReads       = 5
	maxOrgTopics   = 16
	maxBuildTopics = 40
)

// workspaces is the resource coderworkspaces.
type workspaces struct{ *store }

// readWorkspaces reads all workspaces of a control plane.
func readWorkspaces(ctx context.Context, s *site) ([]object, []string, error) {
	for range maxReads {
		all, whole, err := workspacePages(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		if !whole {
			continue
		}
		out := make([]object, len(all))
		for i, w := range all {
			out[i] = convert.Workspace(s.namespace, w)
		}
		return out, topicsOf(all), nil
	}
	return nil, nil, codersdk.Errorf(codersdk.CodeUnavailable, "the workspaces changed while they were listed; try again")
}

// workspacePages reads page by page. Each page starts with the last item of the
// one before; otherwise the list changed in between and is incomplete.
func workspacePages(ctx context.Context, s *site) ([]codersdk.Workspace, bool, error) {
	var all []codersdk.Workspace
	for {
		q := url.Values{"limit": {strconv.Itoa(pageSize)}, "offset": {strconv.Itoa(max(0, len(all)-1))}}
		var page codersdk.WorkspacesResponse
		err := s.ask(ctx, func(ctx context.Context, c *codersdk.Client) (err error) {
			page, err = c.Workspaces(ctx, q)
			return err
		})
		if err != nil {
			return nil, false, err
		}
		got := page.Workspaces
		if len(all) > 0 {
			if len(got) == 0 || got[0].ID != all[len(all)-1].ID {
				return nil, false, nil
			}
			got = got[1:]
		}
		all = append(all, got...)
		if len(page.Workspaces) < pageSize {
			return all, true, nil
		}
	}
}

// topicsOf returns the topics of workspace changes: changes by users, jobs of
// organizations, and workspaces with a build in progress.
func topicsOf(all []codersdk.Workspace) []string {
	out := []string{string(codersdk.RBACResourceWorkspace)}
	organizations := map[uuid.UUID]bool{}
	building := 0
	for _, w := range all {
		if !organizations[w.OrganizationID] && len(organizations) < maxOrgTopics {
			organizations[w.OrganizationID] = true
			out = append(out, "jobs/"+w.OrganizationID.String())
		}
		switch w.LatestBuild.Job.Status {
		case codersdk.ProvisionerJobStatusPending, codersdk.ProvisionerJobStatusRunning, codersdk.ProvisionerJobStatusCanceling:
			if building++; building <= maxBuildTopics {
				out = append(out, "workspace/"+w.ID.String())
			}
		}
	}
	return out
}

// get reads one workspace of the request's namespace.
func (s workspaces) get(ctx context.Context, name string) (*site, codersdk.Workspace, *v1alpha1.CoderWorkspace, error) {
	namespace := genericapirequest.NamespaceValue(ctx)
	p, ok := convert.Parts(name, 3)
	if !ok {
		return nil, codersdk.Workspace{}, nil, apierrors.NewNotFound(s.GroupResource, name)
	}
	at, err := s.sites.of(ctx, namespace)
	if err != nil {
		return nil, codersdk.Workspace{}, nil, s.refuse(name, err)
	}
	var w codersdk.Workspace
	err = at.ask(ctx, func(ctx context.Context, c *codersdk.Client) (err error) {
		w, err = c.WorkspaceByOwnerAndName(ctx, p[1], p[2], nil)
		return err
	})
	if err == nil {
		err = convert.SameName(name, convert.NameOf(w.OrganizationName, w.OwnerName, w.Name))
	}
	if err != nil {
		return at, w, nil, s.refuse(name, err)
	}
	return at, w, convert.Workspace(namespace, w), nil
}

// Get returns a workspace.
func (s workspaces) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	_, _, out, err := s.get(ctx, name)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Create creates a workspace, which starts.
func (s workspaces) Create(ctx context.Context, o runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	in, ok := o.(*v1alpha1.CoderWorkspace)
	if !ok {
		return nil, apierrors.NewBadRequest("the object is not a CoderWorkspace")
	}
	p, errs := s.check(in)
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.GroupVersion().WithKind(s.kind).GroupKind(), in.Name, errs)
	}
	if validate != nil {
		if err := validate(ctx, in.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	namespace := genericapirequest.NamespaceValue(ctx)
	at, err := s.sites.of(ctx, namespace)
	if err != nil {
		return nil, s.refuse(in.Name, err)
	}
	req, err := s.request(ctx, at, in, p)
	if err != nil {
		return nil, s.refuse(in.Name, err)
	}
	unkept(ctx, in, nil)
	if options != nil && len(options.DryRun) > 0 {
		return in, nil
	}
	s.note(ctx, "create", namespace, in.Name)
	var made codersdk.Workspace
	err = at.ask(ctx, func(ctx context.Context, c *codersdk.Client) (err error) {
		made, err = c.CreateWorkspace(ctx, p[1], req)
		return err
	})
	if codersdk.Is(err, codersdk.CodeConflict) {
		return nil, apierrors.NewAlreadyExists(s.GroupResource, in.Name)
	}
	if err != nil {
		return nil, s.refuse(in.Name, err)
	}
	s.awake()
	return convert.Workspace(namespace, made), nil
}

// check validates a new workspace and returns the parts of its name.
func (s workspaces) check(in *v1alpha1.CoderWorkspace) ([]string, field.ErrorList) {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	name := field.NewPath("metadata", "name")
	p, ok := convert.Parts(in.Name, 3)
	switch {
	case in.Name == "":
		errs = append(errs, field.Required(name, "set the name to <organization>.<user>.<workspace>; names are not generated"))
	case !ok || in.Name != strings.ToLower(in.Name):
		errs = append(errs,
			field.Invalid(name, in.Name, "must be <organization>.<user>.<workspace>, each of at most 32 lower-case letters, digits and single hyphens"))
	case in.Spec.Organization != "" && !strings.EqualFold(in.Spec.Organization, p[0]):
		errs = append(errs, field.Invalid(spec.Child("organization"), in.Spec.Organization, "must match the organization in the name, "+p[0]))
	}
	if in.Spec.TemplateName == "" && in.Spec.TemplateVersionID == "" {
		errs = append(errs, field.Required(spec.Child("templateName"), "set templateName or templateVersionID"))
	}
	if v := in.Spec.TemplateVersionID; v != "" {
		if _, err := uuid.Parse(v); err != nil {
			errs = append(errs, field.Invalid(spec.Child("templateVersionID"), v, "is not a UUID"))
		}
	}
	if r := in.Spec.Running; r != nil && !*r {
		errs = append(errs, field.Invalid(spec.Child("running"), false, "a new workspace always starts; leave the field out, and stop the workspace later"))
	}
	if t := in.Spec.TTLMillis; t != nil && *t < 0 {
		errs = append(errs, field.Invalid(spec.Child("ttlMillis"), *t, "must not be negative"))
	}
	return p, errs
}

// request resolves the names in a new workspace.
func (s workspaces) request(ctx context.Context, at *site, in *v1alpha1.CoderWorkspace, p []string) (codersdk.CreateWorkspaceRequest, error) {
	req := codersdk.CreateWorkspaceRequest{Name: p[2], TTLMS: in.Spec.TTLMillis, AutostartSchedule: in.Spec.AutostartSchedule}
	err := at.ask(ctx, func(ctx context.Context, c *codersdk.Client) error {
		organization, err := c.Organization(ctx, p[0])
		if codersdk.Is(err, codersdk.CodeNotFound) {
			return codersdk.Invalid("metadata.name", "organization %s not found", p[0])
		} else if err != nil {
			return err
		}
		owner, err := c.User(ctx, p[1])
		if err != nil {
			return err
		}
		if real := convert.NameOf(organization.Name, owner.Username, p[2]); real != in.Name {
			return codersdk.Invalid("metadata.name", "%s is an alias; use %s", in.Name, real)
		}
		if in.Spec.TemplateName != "" {
			t, err := c.TemplateByName(ctx, organization.Name, in.Spec.TemplateName)
			if codersdk.Is(err, codersdk.CodeNotFound) {
				return codersdk.Invalid("spec.templateName", "organization %s has no template %s", organization.Name, in.Spec.TemplateName)
			} else if err != nil {
				return err
			}
			req.TemplateID = t.ID
		}
		if in.Spec.TemplateVersionID == "" {
			return nil
		}
		id := uuid.MustParse(in.Spec.TemplateVersionID)
		v, err := c.TemplateVersion(ctx, id)
		if codersdk.Is(err,
			codersdk.CodeNotFound) || err == nil && (v.OrganizationID != organization.ID || req.TemplateID != uuid.Nil && v.TemplateID != req.TemplateID) {
			return codersdk.Invalid("spec.templateVersionID", "the template has no such version")
		}
		req.TemplateID, req.TemplateVersionID = uuid.Nil, id
		return err
	})
	return req, err
}

// Update starts or stops a workspace; nothing else can be changed. (OP-21)
func (s workspaces) Update(
	ctx context.Context,
	name string,
	info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc,
	validate rest.ValidateObjectUpdateFunc,
	mayCreate bool,
	options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	at, w, now, err := s.get(ctx, name)
	want, made, err := wanted(ctx, s.store, now, err, update{info, create, validate, mayCreate, options}, s.Create)
	if err != nil || made != nil {
		return made, made != nil, err
	}
	if errs := onlyRunning(want, now); len(errs) > 0 {
		return nil, false, apierrors.NewInvalid(v1alpha1.GroupVersion().WithKind(s.kind).GroupKind(), name, errs)
	}
	if want.Spec.Running == nil || *want.Spec.Running == *now.Spec.Running {
		return now, false, nil
	}
	if len(dryRun(options)) > 0 {
		now.Spec.Running = want.Spec.Running
		return now, false, nil
	}
	transition := codersdk.WorkspaceTransitionStop
	if *want.Spec.Running {
		transition = codersdk.WorkspaceTransitionStart
	}
	out, err := s.build(ctx, at, w, transition, name)
	return out, false, err
}

// build starts, stops or deletes a workspace, and returns its new state.
func (s workspaces) build(ctx context.Context, at *site, w codersdk.Workspace, transition codersdk.WorkspaceTransition, name string) (runtime.Object, error) {
	s.note(ctx, string(transition), at.namespace, name)
	err := at.ask(ctx, func(ctx context.Context, c *codersdk.Client) error {
		_, err := c.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: transition})
		return err
	})
	if err != nil {
		return nil, s.refuse(name, err)
	}
	s.awake()
	err = at.ask(ctx, func(ctx context.Context, c *codersdk.Client) (err error) {
		w, err = c.Workspace(ctx, w.ID, url.Values{"include_deleted": {"true"}})
		return err
	})
	if err != nil {
		return nil, s.refuse(name, err)
	}
	return convert.Workspace(at.namespace, w), nil
}

// onlyRunning refuses changes of other fields. Omitted fields stay the same.
func onlyRunning(want, now *v1alpha1.CoderWorkspace) field.ErrorList {
	var errs field.ErrorList
	fixed := func(name, want, now string) {
		if want != "" && want != now {
			errs = append(errs, field.Forbidden(field.NewPath("spec", name), "only running can be changed here; change other fields at the control plane"))
		}
	}
	fixed("organization", want.Spec.Organization, now.Spec.Organization)
	fixed("templateName", want.Spec.TemplateName, now.Spec.TemplateName)
	fixed("templateVersionID", want.Spec.TemplateVersionID, now.Spec.TemplateVersionID)
	if t := want.Spec.TTLMillis; t != nil && (now.Spec.TTLMillis == nil || *t != *now.Spec.TTLMillis) {
		fixed("ttlMillis", "another", "")
	}
	if t := want.Spec.AutostartSchedule; t != nil && (now.Spec.AutostartSchedule == nil || *t != *now.Spec.AutostartSchedule) {
		fixed("autostartSchedule", "another", "")
	}
	return errs
}

// Delete starts the deletion of a workspace. The object exists until its build
// has succeeded. (OP-21)
func (s workspaces) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	if err := s.stays(ctx, name); err != nil {
		return nil, false, err
	}
	at, w, now, err := s.get(ctx, name)
	if err != nil {
		return nil, false, err
	}
	if err := s.deletable(ctx, now, validate, options); err != nil {
		return nil, false, err
	}
	deleting := w.LatestBuild.Transition == codersdk.WorkspaceTransitionDelete && w.LatestBuild.Job.CompletedAt == nil
	if deleting || options != nil && len(options.DryRun) > 0 {
		return now, false, nil
	}
	out, err := s.build(ctx, at, w, codersdk.WorkspaceTransitionDelete, name)
	return out, false, err
}
