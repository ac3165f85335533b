package notification

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Audience names the recipients of an event that lists none.
type Audience int

// The audiences. The initiator of an event is never in an audience of
// administrators.
const (
	Listed         Audience = iota // the recipients of the event only
	Owner                          // the owner of the workspace, unless the owner caused the event
	TemplateAdmins                 // template administrators of the site and of the organization
	UserAdmins                     // owners and user administrators of the site
)

// usualQuiet is the default of Template.Quiet.
const usualQuiet = time.Minute

// Template is one kind of notification. Title, Body and the paths of Actions are
// templates of package text/template; Values lists what they can use. The body is
// Markdown, in which inserted values are escaped.
type Template struct {
	ID                uuid.UUID
	Name, Group       string
	Title, Body       string
	Actions           []codersdk.InboxNotificationAction // URL is a path below the access URL
	Audience          Audience
	DisabledByDefault bool
	Quiet             time.Duration // in which the same notification is not repeated; 0 means a minute, negative none
	Required          bool          // users cannot disable it
	// Secret is set for a template with a secret that is created when an email is
	// sent. It is sent by email only, and in no inbox.
	Secret bool
	// BrowsersOnly is set for a template that goes to subscribed browsers only.
	BrowsersOnly      bool
	NotifiesSuspended bool // suspended users get it
	IgnoresPause      bool // it is sent while notifications are paused
	Custom            bool // its text comes from users
}

// QuietPeriod returns the time in which the same notification is not repeated.
func (t Template) QuietPeriod() time.Duration {
	switch {
	case t.Quiet == 0:
		return usualQuiet
	case t.Quiet < 0:
		return 0
	}
	return t.Quiet
}

// All returns every template, by group and name.
func All() []Template { return slices.Clone(templates) }

// ByID returns the template with that ID, or that of Digest.
func ByID(id uuid.UUID) (Template, bool) {
	if id == Digest {
		return Template{ID: Digest, Name: "Daily email", Group: groupOthers}, true
	}
	i := slices.IndexFunc(templates, func(t Template) bool { return t.ID == id })
	if i < 0 {
		return Template{}, false
	}
	return templates[i], true
}

// Unpausable returns the IDs of the templates that are sent while notifications are
// paused.
func Unpausable() []uuid.UUID {
	var ids []uuid.UUID
	for _, t := range templates {
		if t.IgnoresPause {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// Groups of templates.
const (
	groupWorkspaces = "Workspace events"
	groupTemplates  = "Template events"
	groupUsers      = "User events"
	groupOthers     = "Other notifications"
)

// IDs of templates. Editors know those of WorkspaceOutOfMemory and
// WorkspaceOutOfDisk.
var (
	WorkspaceCreated           = uuid.MustParse("cb15edbe-83c2-4831-a668-8241add33d5e")
	WorkspaceUpdated           = uuid.MustParse("a8636b96-5411-402a-942e-e036c6dea642")
	WorkspaceDeleted           = uuid.MustParse("1d7e7a10-6697-429c-9dc5-86ea4bfab63d")
	WorkspaceDormant           = uuid.MustParse("f3204525-05c2-4b20-824a-a001d1b182be")
	WorkspaceMarkedForDeletion = uuid.MustParse("888725f3-9649-4f70-a94d-7cde7a163da9")
	WorkspaceAutobuildFailed   = uuid.MustParse("f7870a4b-d832-428b-aeae-5d04d1036aad")
	WorkspaceBuildFailed       = uuid.MustParse("2faeee0f-26cb-4e96-821c-85ccb9f71513")
	WorkspaceAutoUpdated       = uuid.MustParse("a32b1721-a897-44e5-a2f8-333a3da1ec71")
	WorkspaceOutOfMemory       = uuid.MustParse("a9d027b4-ac49-4fb1-9f6d-45af15f64e7a")
	WorkspaceOutOfDisk         = uuid.MustParse("f047f6a3-5713-40f7-85aa-0394cce9fa3a")

	TemplateDeleted       = uuid.MustParse("705ebe14-157c-4380-923e-706ad6b937d8")
	TemplateDeprecated    = uuid.MustParse("ad43416f-287a-4e35-bc34-8dbc958067ef")
	TemplateImportFailed  = uuid.MustParse("1a16ff9a-5644-4f33-8a98-8db2551dadce")
	TemplatePrebuildsFail = uuid.MustParse("c9bca202-01bd-4111-96ab-a88b83ead022")
	TemplateClaimReplaces = uuid.MustParse("4e307e0c-7f55-4aeb-a20c-62e7f9eed687")
	TemplateBuildsFailed  = uuid.MustParse("a150fdce-8f8a-4c4a-924e-866a3f66f1f1")

	UserCreated          = uuid.MustParse("a466fdc3-78e0-443e-af2e-6c4c57ae7365")
	UserDeleted          = uuid.MustParse("b4b59ad9-1646-4409-be47-4114a5629958")
	UserSuspended        = uuid.MustParse("fe58eee9-c547-48c8-861a-389fb9f89433")
	UserActivated        = uuid.MustParse("7a8b9ad3-9c72-412e-a049-cf29a3bcb1b8")
	YourAccountSuspended = uuid.MustParse("1d27a1ec-882d-48b7-9ae9-86f41d38a9e6")
	YourAccountActivated = uuid.MustParse("2ce69f0e-8bbf-4a86-b176-f182186801af")

	PasswordReset = uuid.MustParse("ad5710aa-d1a8-45fd-b9b5-3e213815eaba")

	Test   = uuid.MustParse("86702bca-4e38-4c27-b18d-598e718cff7d")
	Custom = uuid.MustParse("0c8e7116-4cd9-48ff-8000-4362d2a6c83a")
	// Digest is the kind of an email with all notifications of a day. It has no template.
	Digest = uuid.MustParse("1f83629c-6a52-40dd-b0fd-4f2f65d22feb")
	// BrowserTest is the test of web push.
	BrowserTest = uuid.MustParse("6d90ec03-63bf-46b5-b0e7-fab61a58443c")
)

func link(label, path string) []codersdk.InboxNotificationAction {
	return []codersdk.InboxNotificationAction{{Label: label, URL: path}}
}

const (
	workspacePage = "/@{{.workspace_owner_username}}/{{.name}}"
	templatePage  = "/templates/{{.organization}}/{{.template_name}}"
)
