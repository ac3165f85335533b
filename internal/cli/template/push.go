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

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// source holds the flags for the files, variables and tags of a version.
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
		option.String(&s.variablesFile, "variables-file", "YAML file with values of template variables"),
		option.List(&s.variables, "variable", "Value of a template variable, as name=value (repeatable)"),
		option.List(&s.vars, "var", "Alias of --variable"),
		option.List(&s.tags, "provisioner-tag", "Provisioner tag of the template, as key=value (repeatable); \"-\" removes the tags of the active version"),
	}
}

func (s *source) directoryOptions() []*option.Option {
	return []*option.Option{
		option.String(&s.directory, "directory", "Directory of the template; - reads a tar archive from standard input").Short("d").Def("."),
		option.Bool(&s.ignoreLockfile, "ignore-lockfile", "Suppress the warning about a missing .terraform.lock.hcl").Def("false"),
		option.String(&s.message, "message", "Description of the changes").Short("m"),
	}
}

func templatesPushCommand(a *command.Run) *command.Command {
	var s source
	var activate bool
	options := append(s.variableOptions(),
		option.String(&s.versionName, "name", "Name of the version (default: random)"),
		option.Bool(&s.alwaysPrompt, "always-prompt", "Prompt for every variable instead of reusing the values of the active version"),
		option.Bool(&activate, "activate", "Make the new version the active version").Def("true"),
		command.Yes(&s.yes))
	options = append(append(options, s.directoryOptions()...), command.Org(&s.org))
	return &command.Command{
		Name: "push", Args: "[template]", Max: 1,
		Short: "Upload a directory as a new template or template version",
		Long: "The template's name defaults to that of the directory. A provisioner imports the upload. The " +
			"command shows the log of the import and the resources of a workspace.",
		Examples: []command.Example{
			{Text: "Push the current directory", Line: "coder templates push"},
			{Text: "Push a version without activating it", Line: "coder templates push my-template --activate=false --name try-1"},
			{Text: "Set a variable", Line: "coder templates push my-template --variable region=eu-west-1"},
		},
		Options: options,
		Run:     func(ctx context.Context, args []string) error { return templatesPush(ctx, a, args, &s, activate) },
	}
}

func templatesPush(ctx context.Context, a *command.Run, args []string, s *source, activate bool) error {
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
	if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
		return err
	}
	if !exists {
		if err := a.Confirm(fmt.Sprintf("Template %q does not exist. Create it?", name), s.yes); err != nil {
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
		_, err = fmt.Fprintf(a.Stdout, "Created template %s with version %s. Create a workspace with: coder create --template %s\n", name, v.Name, name)
	case activate:
		if err := c.UpdateActiveTemplateVersion(ctx, t.ID, codersdk.UpdateActiveTemplateVersion{ID: v.ID}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "Pushed version %s of template %s. It is the active version.\n", v.Name, name)
	default:
		_, err = fmt.Fprintf(a.Stdout, "Pushed version %s of template %s. It is not the active version.\n", v.Name, name)
	}
	return err
}

// newTemplate returns the request for a template with default settings.
func newTemplate(name string, version uuid.UUID) codersdk.CreateTemplateRequest {
	return codersdk.CreateTemplateRequest{Name: name, TemplateVersionID: version}
}

// templateName returns the given name, or that of the directory.
func (s *source) templateName(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], codersdk.CheckName("template", args[0])
	}
	if s.directory == "-" {
		return "", command.Failure("standard input has no name for the template; use 'coder templates push <name>'")
	}
	dir, err := filepath.Abs(s.directory)
	if err != nil {
		return "", err
	}
	name := filepath.Base(dir)
	if err := codersdk.CheckName("template", name); err != nil {
		return "", command.Failure("directory name %q is not a valid template name; use 'coder templates push <name>'", name)
	}
	return name, nil
}

// importVersion uploads the files, creates a version of them and follows its
// import. It prompts for variables without a value and then imports again. t is
// the template of the version, or the zero value for a new one.
func importVersion(
	ctx context.Context,
	a *command.Run,
	c *codersdk.Client,
	o codersdk.Organization,
	t codersdk.Template,
	s *source,
) (codersdk.TemplateVersion, error) {
	data, err := packSource(a, s)
	if err != nil {
		return codersdk.TemplateVersion{}, err
	}
	values, err := s.values()
	if err != nil {
		return codersdk.TemplateVersion{}, err
	}
	tags, err := s.tagSet(ctx, c, t)
	if err != nil {
		return codersdk.TemplateVersion{}, err
	}
	if err := reuseValues(ctx, c, t, s, values); err != nil {
		return codersdk.TemplateVersion{}, err
	}
	up := a.Spin("Uploading " + archive.Size(int64(len(data))))
	file, err := c.Upload(ctx, "application/x-tar", bytes.NewReader(data))
	up.Done(err == nil)
	if err != nil {
		return codersdk.TemplateVersion{}, err
	}
	id, err := uuid.Parse(file.Hash)
	if err != nil {
		return codersdk.TemplateVersion{}, fmt.Errorf("the server returned an invalid file ID %q: %w", file.Hash, err)
	}
	req := codersdk.CreateTemplateVersionRequest{
		Name: s.versionName, Message: s.message, FileID: id, TemplateID: t.ID, Provisioner: "terraform",
		StorageMethod: codersdk.ProvisionerStorageMethodFile, Tags: tags,
	}
	for {
		req.UserVariableValues = variableValues(values)
		v, err := runImport(ctx, a, c, o, req)
		if err == nil || v.Job.ErrorCode != codersdk.JobErrorCodeRequiredTemplateVariables {
			return v, err
		}
		if err := askVariables(ctx, a, c, v, values); err != nil {
			return v, err
		}
	}
}

// runImport creates a version, follows its import, and prints the resources of
// a workspace.
func runImport(
	ctx context.Context,
	a *command.Run,
	c *codersdk.Client,
	o codersdk.Organization,
	req codersdk.CreateTemplateVersionRequest,
) (codersdk.TemplateVersion, error) {
	v, err := c.CreateTemplateVersion(ctx, o.ID.String(), req)
	if err != nil {
		return v, err
	}
	id := v.ID
	err = a.Follow(ctx, command.Watch{
		Client: c, Logs: "/templateversions/" + id.String() + "/logs",
		Job: func(ctx context.Context) (codersdk.ProvisionerJob, error) {
			now, err := c.TemplateVersion(ctx, id)
			if err == nil {
				v = now
			}
			return now.Job, err
		},
		Warning: v.ProvisionerWarning,
		GoesOn:  "The import continues; 'coder templates versions list' shows its result.",
	})
	if err != nil {
		if v.Job.ErrorCode == codersdk.JobErrorCodeRequiredTemplateVariables {
			return v, err
		}
		return v, fmt.Errorf("import the template: %w", err)
	}
	resources, err := c.TemplateVersionResources(ctx, id)
	if err != nil {
		return v, err
	}
	return v, showPlan(a, resources)
}

// packSource returns the tar archive of the directory or of standard input.
func packSource(a *command.Run, s *source) ([]byte, error) {
	if s.directory == "-" {
		return io.ReadAll(a.Lines)
	}
	info, err := os.Stat(s.directory)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, command.Failure("directory %s does not exist", s.directory)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, command.Failure("%s is not a directory", s.directory)
	}
	files, err := filepath.Glob(filepath.Join(s.directory, "*.tf*"))
	if err != nil || len(files) == 0 {
		return nil, command.Failure("directory %s contains no Terraform files (*.tf)", s.directory)
	}
	if _, err := os.Stat(filepath.Join(s.directory, ".terraform.lock.hcl")); err != nil && !s.ignoreLockfile && a.Verbose {
		fmt.Fprintln(a.Stderr, "No .terraform.lock.hcl found: builds may use different provider versions. Create it with 'terraform init'.")
	}
	return archive.Pack(s.directory, archive.Upload())
}

// tagSet returns the given tags, or else those of the active version.
func (s *source) tagSet(ctx context.Context, c *codersdk.Client, t codersdk.Template) (map[string]string, error) {
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
		return nil, command.Failure("%s", err)
	}
	if len(tags) > 0 || drop || t.ID == uuid.Nil {
		return tags, codersdk.CheckTags("provisioner-tag", tags)
	}
	active, err := c.TemplateVersion(ctx, t.ActiveVersionID)
	if err != nil {
		return nil, err
	}
	for k, v := range active.Job.Tags {
		if k != codersdk.TagOwner && (k != codersdk.TagScope || v == codersdk.ScopeUser) {
			tags[k] = v
		}
	}
	return tags, nil
}
