package template

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// source is where the files of a version come from, and what it is given.
type source struct {
	directory, message string
	ignoreLockfile     bool
	variablesFile      string
	variables, vars    []string
	tags               []string
	versionName        string
	alwaysPrompt       bool
	yes                bool
	org                string
}

func (s *source) variableOptions() []*option.Option {
	return []*option.Option{
		option.String(&s.variablesFile, "variables-file", "YAML file with values of the template's variables."),
		option.List(&s.variables, "variable", "Value of a variable, as name=value. May be repeated."),
		option.List(&s.vars, "var", "Short for --variable."),
		option.List(&s.tags, "provisioner-tag", "Tag that the provisioners of this template must have, as key=value. May be repeated; \"-\" drops those of the version before."),
	}
}

func (s *source) directoryOptions() []*option.Option {
	return []*option.Option{
		option.String(&s.directory, "directory", "Directory of the template; - reads a tar archive from standard input.").Short("d").Def("."),
		option.Bool(&s.ignoreLockfile, "ignore-lockfile", "Do not warn when there is no .terraform.lock.hcl.").Def("false"),
		option.String(&s.message, "message", "What changed, shown beside the version.").Short("m"),
	}
}

func templatesPushCommand(a *app.Run) *app.Command {
	var s source
	var activate bool
	options := append(s.variableOptions(),
		option.String(&s.versionName, "name", "Name of the version; a random one otherwise."),
		option.Bool(&s.alwaysPrompt, "always-prompt", "Ask for every variable, instead of taking the values of the active version."),
		option.Bool(&activate, "activate", "Make the new version the active one.").Def("true"),
		app.Yes(&s.yes))
	options = append(append(options, s.directoryOptions()...), app.Org(&s.org))
	return &app.Command{
		Name: "push", Args: "[template]", Max: 1,
		Short: "Upload a directory as a new template, or as a new version of one.",
		Long: "The template is named after the directory unless a name is given. The upload is imported by a " +
			"provisioner, whose log is shown as it grows, and then what a workspace would be made of.",
		Examples: []app.Example{
			{Text: "Upload this directory", Line: "coder templates push"},
			{Text: "Try a version without making it active", Line: "coder templates push my-template --activate=false --name try-1"},
			{Text: "Give a variable a value", Line: "coder templates push my-template --variable region=eu-west-1"},
		},
		Options: options,
		Run:     func(ctx context.Context, args []string) error { return templatesPush(ctx, a, args, &s, activate) },
	}
}

func templatesPush(ctx context.Context, a *app.Run, args []string, s *source, activate bool) error {
	name, err := s.templateName(args)
	if err != nil {
		return err
	}
	c, o, err := a.ClientAndOrganization(ctx, s.org)
	if err != nil {
		return err
	}
	t, err := c.TemplateByName(ctx, o.ID.String(), name)
	exists := err == nil
	if err != nil && !coder.Is(err, coder.CodeNotFound) {
		return err
	}
	if !exists {
		if err := a.Confirm(fmt.Sprintf("There is no template %q yet. Make it?", name), s.yes); err != nil {
			return err
		}
	}
	v, err := importVersion(ctx, a, c, o, t, s)
	if err != nil {
		return err
	}
	switch {
	case !exists:
		if _, err := c.CreateTemplate(ctx, o.ID.String(), newTemplate(name, v.ID)); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "Made template %s with version %s. Make a workspace of it with: coder create --template %s\n", name, v.Name, name)
	case activate:
		if err := c.UpdateActiveTemplateVersion(ctx, t.ID, coder.UpdateActiveTemplateVersion{ID: v.ID}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "Version %s of template %s is uploaded and active.\n", v.Name, name)
	default:
		_, err = fmt.Fprintf(a.Stdout, "Version %s of template %s is uploaded, and not active.\n", v.Name, name)
	}
	return err
}

// newTemplate asks for a template with the usual settings.
func newTemplate(name string, version uuid.UUID) coder.CreateTemplateRequest {
	return coder.CreateTemplateRequest{Name: name, TemplateVersionID: version}
}

// templateName is the given name, else that of the directory.
func (s *source) templateName(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], coder.CheckName("template", args[0])
	}
	if s.directory == "-" {
		return "", app.Failure("name the template when its files come from standard input")
	}
	dir, err := filepath.Abs(s.directory)
	if err != nil {
		return "", err
	}
	name := filepath.Base(dir)
	if err := coder.CheckName("template", name); err != nil {
		return "", app.Failure("the directory's name %q is no name of a template; give one: coder templates push <name>", name)
	}
	return name, nil
}

// importVersion uploads the files, makes a version of them and waits for its
// import. Variables without a value are asked for, and the import is then
// tried again. t is the template that the version is for, or none.
func importVersion(ctx context.Context, a *app.Run, c *client.Client, o coder.Organization, t coder.Template, s *source) (coder.TemplateVersion, error) {
	data, err := packSource(a, s)
	if err != nil {
		return coder.TemplateVersion{}, err
	}
	values, err := s.values()
	if err != nil {
		return coder.TemplateVersion{}, err
	}
	tags, err := s.tagSet(ctx, c, t)
	if err != nil {
		return coder.TemplateVersion{}, err
	}
	if err := reuseValues(ctx, c, t, s, values); err != nil {
		return coder.TemplateVersion{}, err
	}
	up := a.Spin("Uploading " + archive.Size(int64(len(data))))
	file, err := c.Upload(ctx, "application/x-tar", bytes.NewReader(data))
	up.Done(err == nil)
	if err != nil {
		return coder.TemplateVersion{}, err
	}
	id, err := uuid.Parse(file.Hash)
	if err != nil {
		return coder.TemplateVersion{}, fmt.Errorf("the server named the upload %q: %w", file.Hash, err)
	}
	req := coder.CreateTemplateVersionRequest{
		Name: s.versionName, Message: s.message, FileID: id, TemplateID: t.ID, Provisioner: "terraform",
		StorageMethod: coder.ProvisionerStorageMethodFile, Tags: tags,
	}
	for {
		req.UserVariableValues = variableValues(values)
		v, err := runImport(ctx, a, c, o, req)
		if err == nil || v.Job.ErrorCode != coder.JobErrorCodeRequiredTemplateVariables {
			return v, err
		}
		if err := askVariables(ctx, a, c, v, values); err != nil {
			return v, err
		}
	}
}

// runImport makes a version, follows its import, and shows what it would make.
func runImport(ctx context.Context, a *app.Run, c *client.Client, o coder.Organization, req coder.CreateTemplateVersionRequest) (coder.TemplateVersion, error) {
	v, err := c.CreateTemplateVersion(ctx, o.ID.String(), req)
	if err != nil {
		return v, err
	}
	id := v.ID
	err = a.Follow(ctx, app.Watch{
		Client: c, Logs: "/templateversions/" + id.String() + "/logs",
		Job: func(ctx context.Context) (coder.ProvisionerJob, error) {
			now, err := c.TemplateVersion(ctx, id)
			if err == nil {
				v = now
			}
			return now.Job, err
		},
		Warning: v.ProvisionerWarning,
		GoesOn:  "The import goes on; 'coder templates versions list' shows how it ends.",
	})
	if err != nil {
		if v.Job.ErrorCode == coder.JobErrorCodeRequiredTemplateVariables {
			return v, err
		}
		return v, fmt.Errorf("importing the template: %w", err)
	}
	resources, err := c.TemplateVersionResources(ctx, id)
	if err != nil {
		return v, err
	}
	return v, showPlan(a, resources)
}

// packSource makes the archive of the directory, or reads it.
func packSource(a *app.Run, s *source) ([]byte, error) {
	if s.directory == "-" {
		return io.ReadAll(a.Lines)
	}
	info, err := os.Stat(s.directory)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, app.Failure("the directory %s does not exist", s.directory)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, app.Failure("%s is not a directory", s.directory)
	}
	files, err := filepath.Glob(filepath.Join(s.directory, "*.tf*"))
	if err != nil || len(files) == 0 {
		return nil, app.Failure("the directory %s holds no Terraform files (*.tf)", s.directory)
	}
	if _, err := os.Stat(filepath.Join(s.directory, ".terraform.lock.hcl")); err != nil && !s.ignoreLockfile && a.Verbose {
		fmt.Fprintln(a.Stderr, "There is no .terraform.lock.hcl: each build may get other versions of the providers. 'terraform init' makes one.")
	}
	return archive.Pack(s.directory, archive.Upload())
}

// tagSet is the version's tags: those given, else those of the active version.
func (s *source) tagSet(ctx context.Context, c *client.Client, t coder.Template) (map[string]string, error) {
	given := s.tags
	drop := false
	for i := 0; i < len(given); i++ {
		if strings.TrimSpace(given[i]) == "-" {
			given = append(given[:i:i], given[i+1:]...)
			drop = true
			i--
		}
	}
	tags, err := option.Pairs("--provisioner-tag", given)
	if err != nil {
		return nil, app.Failure("%s", err)
	}
	if len(tags) > 0 || drop || t.ID == uuid.Nil {
		return tags, coder.CheckTags("provisioner-tag", tags)
	}
	active, err := c.TemplateVersion(ctx, t.ActiveVersionID)
	if err != nil {
		return nil, err
	}
	for k, v := range active.Job.Tags {
		if k != coder.TagOwner && (k != coder.TagScope || v == coder.ScopeUser) {
			tags[k] = v
		}
	}
	return tags, nil
}
