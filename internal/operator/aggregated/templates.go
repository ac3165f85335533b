package aggregated

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"github.com/seed-2a7f8fe7/coder/api/aggregation/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/aggregated/convert"
)

// deprecated is the deprecation message of a template that is not running and
// has no message of its own.
const deprecated = "Deprecated through Kubernetes"

// templates is the resource codertemplates.
type templates struct {
	*store
	imports *imports
	engine  string
}

// readTemplates reads all templates of a control plane.
func readTemplates(ctx context.Context, s *site) ([]object, []string, error) {
	var all []codersdk.Template
	err := s.ask(ctx, func(ctx context.Context, c *codersdk.Client) (err error) {
		all, err = c.Templates(ctx, nil)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	out := make([]object, len(all))
	for i, t := range all {
		out[i] = convert.Template(s.namespace, t)
	}
	return out, []string{string(codersdk.RBACResourceTemplate)}, nil
}

// get reads one template of the request's namespace, with its files.
func (s templates) get(ctx context.Context, name string) (*site, codersdk.Template, *v1alpha1.CoderTemplate, source, error) {
	var t codersdk.Template
	namespace := genericapirequest.NamespaceValue(ctx)
	p, ok := convert.Parts(name, 2)
	if !ok {
		return nil, t, nil, source{}, apierrors.NewNotFound(s.GroupResource, name)
	}
	at, err := s.sites.of(ctx, namespace)
	if err != nil {
		return nil, t, nil, source{}, s.refuse(name, err)
	}
	err = at.ask(ctx, func(ctx context.Context, c *codersdk.Client) (err error) {
		t, err = c.TemplateByName(ctx, p[0], p[1])
		return err
	})
	if err == nil {
		err = convert.SameName(name, convert.NameOf(t.OrganizationName, t.Name))
	}
	if err != nil {
		return at, t, nil, source{}, s.refuse(name, err)
	}
	out := convert.Template(namespace, t)
	from, err := readSource(ctx, at, t.ActiveVersionID)
	if err != nil {
		return at, t, nil, from, s.refuse(name, err)
	}
	out.Spec.Files = from.files
	return at, t, out, from, nil
}

// Get returns a template with its files.
func (s templates) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	_, _, out, from, err := s.get(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(from.hidden) > 0 {
		warning.AddWarning(ctx, "", fmt.Sprintf("binary and oversized files are left out: %.300s", strings.Join(from.hidden, ", ")))
	}
	return out, nil
}

// Create creates a template from files or from an existing version.
func (s templates) Create(ctx context.Context, o runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	in, ok := o.(*v1alpha1.CoderTemplate)
	if !ok {
		return nil, apierrors.NewBadRequest("the object is not a CoderTemplate")
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
	archive, err := pack(in.Spec.Files, nil)
	if err != nil {
		return nil, s.refuse(in.Name, err)
	}
	at, err := s.sites.of(ctx, genericapirequest.NamespaceValue(ctx))
	if err != nil {
		return nil, s.refuse(in.Name, err)
	}
	err = at.ask(ctx, func(ctx context.Context, c *codersdk.Client) error {
		organization, err := c.Organization(ctx, p[0])
		if real := convert.NameOf(organization.Name, p[1]); err == nil && real != in.Name {
			return codersdk.Invalid("metadata.name", "%s is an alias; use %s", in.Name, real)
		}
		return err
	})
	if err != nil {
		return nil, s.refuse(in.Name, err)
	}
	err = at.ask(ctx, func(ctx context.Context, c *codersdk.Client) error {
		_, err := c.TemplateByName(ctx, p[0], p[1])
		return err
	})
	if err == nil {
		return nil, apierrors.NewAlreadyExists(s.GroupResource, in.Name)
	} else if !codersdk.Is(err, codersdk.CodeNotFound) {
		return nil, s.refuse(in.Name, err)
	}
	unkept(ctx, in, nil)
	if options != nil && len(options.DryRun) > 0 {
		return in, nil
	}
	s.note(ctx, "create", at.namespace, in.Name)
	err = s.imports.run(ctx, importKey(at.namespace, in.Name, archive), func(ctx context.Context) error { return s.make(ctx, at, in, p, archive) })
	if err != nil {
		return nil, s.refuse(in.Name, err)
	}
	s.awake()
	return s.Get(ctx, in.Name, nil)
}

// check validates a new template and returns the parts of its name.
func (s templates) check(in *v1alpha1.CoderTemplate) ([]string, field.ErrorList) {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	name := field.NewPath("metadata", "name")
	p, ok := convert.Parts(in.Name, 2)
	switch {
	case in.Name == "":
		errs = append(errs, field.Required(name, "set the name to <organization>.<template>; names are not generated"))
	case !ok || in.Name != strings.ToLower(in.Name):
		errs = append(errs, field.Invalid(name, in.Name, "must be <organization>.<template>, each of at most 32 lower-case letters, digits and single hyphens"))
	case in.Spec.Organization != "" && !strings.EqualFold(in.Spec.Organization, p[0]):
		errs = append(errs, field.Invalid(spec.Child("organization"), in.Spec.Organization, "must match the organization in the name, "+p[0]))
	}
	switch v := in.Spec.VersionID; {
	case v == "" && len(in.Spec.Files) == 0:
		errs = append(errs, field.Required(spec.Child("files"), "set files, or versionID to use an existing version"))
	case v != "" && len(in.Spec.Files) > 0:
		errs = append(errs, field.Invalid(spec.Child("versionID"), v, "set files or versionID, not both"))
	case v != "":
		if _, err := uuid.Parse(v); err != nil {
			errs = append(errs, field.Invalid(spec.Child("versionID"), v, "is not a UUID"))
		}
	}
	return p, errs
}

// make creates a template.
func (s templates) make(ctx context.Context, at *site, in *v1alpha1.CoderTemplate, p []string, archive []byte) error {
	var version uuid.UUID
	var err error
	if in.Spec.VersionID != "" {
		version = uuid.MustParse(in.Spec.VersionID)
	} else if version, err = upload(ctx, at, p[0], uuid.Nil, s.engine, archive); err != nil {
		return err
	}
	return at.ask(ctx, func(ctx context.Context, c *codersdk.Client) error {
		t, err := c.CreateTemplate(ctx, p[0], codersdk.CreateTemplateRequest{
			Name: p[1], TemplateVersionID: version, DisplayName: in.Spec.DisplayName, Description: in.Spec.Description, Icon: in.Spec.Icon,
		})
		if err == nil && in.Spec.Running != nil && !*in.Spec.Running {
			_, err = c.UpdateTemplate(ctx, t.ID, codersdk.UpdateTemplateMeta{DeprecationMessage: new(deprecated)})
		}
		return err
	})
}

// Update changes a template's metadata, its active version, or its files.
// (OP-22)
func (s templates) Update(
	ctx context.Context,
	name string,
	info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc,
	validate rest.ValidateObjectUpdateFunc,
	mayCreate bool,
	options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	at, t, now, from, err := s.get(ctx, name)
	want, made, err := wanted(ctx, s.store, now, err, update{info, create, validate, mayCreate, options}, s.Create)
	if err != nil || made != nil {
		return made, made != nil, err
	}
	files := len(want.Spec.Files) > 0 && !maps.Equal(want.Spec.Files, now.Spec.Files)
	if errs := changeable(want, now, files, from.hidden); len(errs) > 0 {
		return nil, false, apierrors.NewInvalid(v1alpha1.GroupVersion().WithKind(s.kind).GroupKind(), name, errs)
	}
	archive, err := pack(want.Spec.Files, from.executable)
	if err != nil {
		return nil, false, s.refuse(name, err)
	}
	if len(dryRun(options)) > 0 {
		return want, false, nil
	}
	s.note(ctx, "update", at.namespace, name)
	if err := s.change(ctx, at, t, want, now); err != nil {
		return nil, false, s.refuse(name, err)
	}
	if files {
		err = s.imports.run(ctx, importKey(at.namespace, name, archive), func(ctx context.Context) error { return s.replace(ctx, at, t, archive) })
		if err != nil {
			return nil, false, s.refuse(name, err)
		}
	}
	s.awake()
	out, err := s.Get(ctx, name, nil)
	return out, false, err
}

// changeable refuses changes that are not possible.
func changeable(want, now *v1alpha1.CoderTemplate, files bool, hidden []string) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	if want.Spec.Organization != "" && want.Spec.Organization != now.Spec.Organization {
		errs = append(errs, field.Forbidden(spec.Child("organization"), "a template cannot move to another organization"))
	}
	version := want.Spec.VersionID != "" && want.Spec.VersionID != now.Spec.VersionID
	if version {
		if _, err := uuid.Parse(want.Spec.VersionID); err != nil {
			errs = append(errs, field.Invalid(spec.Child("versionID"), want.Spec.VersionID, "is not a UUID"))
		}
	}
	if files && version {
		errs = append(errs, field.Invalid(spec.Child("versionID"), want.Spec.VersionID, "change files or versionID, not both; files create a new version"))
	}
	if files && len(hidden) > 0 {
		errs = append(errs,
			field.Forbidden(spec.Child("files"),
				fmt.Sprintf("the template has binary or oversized files that would be lost (%.300s); use coder templates push", strings.Join(hidden, ", "))))
	}
	return errs
}

// change changes everything except files.
func (s templates) change(ctx context.Context, at *site, t codersdk.Template, want, now *v1alpha1.CoderTemplate) error {
	var meta codersdk.UpdateTemplateMeta
	changed := false
	set := func(to **string, want, now string) {
		if want != now {
			*to, changed = &want, true
		}
	}
	set(&meta.DisplayName, want.Spec.DisplayName, now.Spec.DisplayName)
	set(&meta.Description, want.Spec.Description, now.Spec.Description)
	set(&meta.Icon, want.Spec.Icon, now.Spec.Icon)
	if r := want.Spec.Running; r != nil && *r == t.Deprecated {
		message := deprecated
		if *r {
			message = ""
		}
		meta.DeprecationMessage, changed = &message, true
	}
	return at.ask(ctx, func(ctx context.Context, c *codersdk.Client) error {
		if changed {
			if _, err := c.UpdateTemplate(ctx, t.ID, meta); err != nil {
				return err
			}
		}
		if want.Spec.VersionID == "" || want.Spec.VersionID == now.Spec.VersionID {
			return nil
		}
		return c.UpdateActiveTemplateVersion(ctx, t.ID, codersdk.UpdateActiveTemplateVersion{ID: uuid.MustParse(want.Spec.VersionID)})
	})
}

// replace makes a new version of files the active one.
func (s templates) replace(ctx context.Context, at *site, t codersdk.Template, archive []byte) error {
	version, err := upload(ctx, at, t.OrganizationID.String(), t.ID, t.Provisioner, archive)
	if err != nil {
		return err
	}
	return at.ask(ctx, func(ctx context.Context, c *codersdk.Client) error {
		return c.UpdateActiveTemplateVersion(ctx, t.ID, codersdk.UpdateActiveTemplateVersion{ID: version})
	})
}

// Delete deletes a template, which must have no workspaces.
func (s templates) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	if err := s.stays(ctx, name); err != nil {
		return nil, false, err
	}
	at, t, now, _, err := s.get(ctx, name)
	if err != nil {
		return nil, false, err
	}
	if err := s.deletable(ctx, now, validate, options); err != nil {
		return nil, false, err
	}
	if options != nil && len(options.DryRun) > 0 {
		return now, true, nil
	}
	s.note(ctx, "delete", at.namespace, name)
	err = at.ask(ctx, func(ctx context.Context, c *codersdk.Client) error { return c.DeleteTemplate(ctx, t.ID) })
	if err != nil {
		return nil, false, s.refuse(name, err)
	}
	s.awake()
	return now, true, nil
}
