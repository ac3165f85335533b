package notification

import (
	"slices"
	"time"
)

// templates are all templates.
var templates = slices.Concat(workspaceTemplates, templateTemplates, userTemplates, otherTemplates)

var workspaceTemplates = []Template{
	{
		ID: WorkspaceCreated, Name: "Workspace created", Group: groupWorkspaces, Audience: TemplateAdmins, DisabledByDefault: true,
		Title: `Workspace "{{.name}}" was created`,
		Body: "**{{.initiator}}** created the workspace **{{.workspace_owner_username}}/{{.name}}** from version **{{.template_version_name}}** " +
			"of the template **{{.template_display_name}}**.",
		Actions: link("View workspace", workspacePage),
	},
	{
		ID: WorkspaceUpdated, Name: "Workspace updated", Group: groupWorkspaces, Audience: TemplateAdmins, DisabledByDefault: true,
		Title: `Workspace "{{.name}}" was updated`,
		Body: "**{{.initiator}}** updated the workspace **{{.workspace_owner_username}}/{{.name}}** to version **{{.template_version_name}}** " +
			"of the template **{{.template_display_name}}**.",
		Actions: link("View workspace", workspacePage),
	},
	{
		ID: WorkspaceDeleted, Name: "Workspace deleted", Group: groupWorkspaces, Audience: Owner,
		Title:   `Workspace "{{.name}}" was deleted`,
		Body:    "Your workspace **{{.name}}** was deleted.\n\nReason: {{.reason}}. Initiator: {{.initiator}}.",
		Actions: link("View workspaces", "/workspaces"),
	},
	{
		ID: WorkspaceDormant, Name: "Workspace dormant", Group: groupWorkspaces, Audience: Owner,
		Title: `Workspace "{{.name}}" is dormant`,
		Body: "Your workspace **{{.name}}** is dormant. Reason: {{.reason}}. A dormant workspace cannot be started until you activate it." +
			"{{if .deleting_at}}\n\nIt will be deleted on {{.deleting_at}} unless you activate it before.{{end}}",
		Actions: link("View workspace", workspacePage),
	},
	{
		ID: WorkspaceMarkedForDeletion, Name: "Workspace marked for deletion", Group: groupWorkspaces, Audience: Owner,
		Title: `Workspace "{{.name}}" will be deleted`,
		Body: "Your dormant workspace **{{.name}}** will be deleted on {{.deleting_at}}, because the settings of its template changed." +
			"\n\nActivate it before then to keep it.",
		Actions: link("View workspace", workspacePage),
	},
	{
		ID: WorkspaceAutobuildFailed, Name: "Automatic build failed", Group: groupWorkspaces, Audience: Owner,
		Title:   `Automatic {{.transition}} of workspace "{{.name}}" failed`,
		Body:    "The automatic {{.transition}} of your workspace **{{.name}}** failed. Reason of the build: {{.reason}}.{{if .error}}\n\nError: {{.error}}{{end}}",
		Actions: link("View build", workspacePage+"/builds/{{.build_number}}"),
	},
	{
		ID: WorkspaceBuildFailed, Name: "Manual build failed", Group: groupWorkspaces, Audience: TemplateAdmins,
		Title: `A {{.transition}} of workspace "{{.name}}" failed`,
		Body: "A {{.transition}} of the workspace **{{.workspace_owner_username}}/{{.name}}** with version **{{.template_version_name}}** of the template " +
			"**{{.template_display_name}}** failed. Initiator: {{.initiator}}.{{if .error}}\n\nError: {{.error}}{{end}}",
		Actions: link("View build", workspacePage+"/builds/{{.build_number}}"),
	},
	{
		ID: WorkspaceAutoUpdated, Name: "Workspace updated automatically", Group: groupWorkspaces, Audience: Owner,
		Title: `Workspace "{{.name}}" was updated automatically`,
		Body: "An automatic start updated your workspace **{{.name}}** to version **{{.template_version_name}}** of its template." +
			"{{if .template_version_message}}\n\nMessage of the version: {{.template_version_message}}{{end}}",
		Actions: link("View workspace", workspacePage),
	},
	{
		ID: WorkspaceOutOfMemory, Name: "Workspace out of memory", Group: groupWorkspaces, Audience: Owner, Quiet: 10 * time.Minute,
		Title:   `Workspace "{{.name}}" is low on memory`,
		Body:    "Your workspace **{{.name}}** reached the memory threshold of **{{.threshold}}**.",
		Actions: link("View workspace", workspacePage),
	},
	{
		ID: WorkspaceOutOfDisk, Name: "Workspace out of disk", Group: groupWorkspaces, Audience: Owner, Quiet: 10 * time.Minute,
		Title:   `Workspace "{{.name}}" is low on disk space`,
		Body:    "The volume **{{.volume}}** of your workspace **{{.name}}** reached the threshold of **{{.threshold}}**.",
		Actions: link("View workspace", workspacePage),
	},
}

var templateTemplates = []Template{
	{
		ID: TemplateDeleted, Name: "Template deleted", Group: groupTemplates, Audience: TemplateAdmins,
		Title:   `Template "{{.template_display_name}}" was deleted`,
		Body:    "**{{.initiator}}** deleted the template **{{.template_display_name}}** of the organization **{{.organization}}**.",
		Actions: link("View templates", "/templates"),
	},
	{
		ID: TemplateDeprecated, Name: "Template deprecated", Group: groupTemplates, Audience: TemplateAdmins,
		Title: `Template "{{.template_display_name}}" is deprecated`,
		Body: "**{{.initiator}}** deprecated the template **{{.template_display_name}}** of the organization **{{.organization}}**. " +
			"New workspaces cannot use it.\n\nMessage: {{.message}}",
		Actions: link("View template", templatePage),
	},
	{
		ID: TemplateImportFailed, Name: "Template import failed", Group: groupTemplates, Audience: TemplateAdmins,
		Title: `Version "{{.template_version_name}}" of template "{{.template_display_name}}" failed to import`,
		Body: "The import of version **{{.template_version_name}}** of the template **{{.template_display_name}}** failed. Initiator: {{.initiator}}." +
			"{{if .error}}\n\nError: {{.error}}{{end}}",
		Actions: link("View version", templatePage+"/versions/{{.template_version_name}}"),
	},
	{
		ID: TemplatePrebuildsFail, Name: "Prebuilt workspaces failed", Group: groupTemplates, Audience: TemplateAdmins, Quiet: 24 * time.Hour,
		Title: `Prebuilt workspaces of template "{{.template_display_name}}" fail`,
		Body: "The preset **{{.preset}}** of the template **{{.template_display_name}}** is suspended after {{.failures}} failed builds in a row." +
			"\n\nCheck the logs of its workspaces and publish a fixed version, or invalidate the prebuilt workspaces to retry.",
		Actions: link("View template", templatePage),
	},
	{
		ID: TemplateClaimReplaces, Name: "Claim replaced resources", Group: groupTemplates, Audience: TemplateAdmins, Quiet: 24 * time.Hour,
		Title: `Claims of preset "{{.preset}}" of template "{{.template_display_name}}" replace resources`,
		Body: "A user claimed a prebuilt workspace of the preset **{{.preset}}**, version **{{.template_version_name}}**. The build replaced resources, " +
			"so the prebuilt workspace saved little time, and its data on them is lost:\n" +
			"{{range .data.resources}}\n- **{{.name}}**{{if .arguments}}, because of {{.arguments}}{{end}}{{end}}" +
			"\n\nMake these arguments independent of the owner of the workspace, or let Terraform ignore their changes.",
		Actions: link("View workspace", workspacePage),
	},
	{
		ID: TemplateBuildsFailed, Name: "Report of failed builds", Group: groupTemplates, Audience: TemplateAdmins, Quiet: -1,
		Title: `Builds of template "{{.template_display_name}}" failed last week`,
		Body: "{{.data.failed}} builds with the template **{{.template_display_name}}** failed in the last 7 days.\n" +
			"{{range .data.versions}}\n- Version **{{.name}}**: {{.failed}} of {{.builds}} builds. Latest: " +
			"{{range $i, $build := .latest}}{{if $i}}, {{end}}{{$build}}{{end}}{{end}}" +
			"{{if .data.more}}\n- {{.data.more}} more versions{{end}}",
		Actions: link("View template", templatePage),
	},
}

var userTemplates = []Template{
	{
		ID: UserCreated, Name: "User created", Group: groupUsers, Audience: UserAdmins,
		Title:   `User "{{.account_username}}" was created`,
		Body:    "The user **{{.account_username}}** ({{.account_name}}) was created. Initiator: {{.initiator}}.",
		Actions: link("View users", "/users"),
	},
	{
		ID: UserDeleted, Name: "User deleted", Group: groupUsers, Audience: UserAdmins,
		Title:   `User "{{.account_username}}" was deleted`,
		Body:    "The user **{{.account_username}}** ({{.account_name}}) was deleted. Initiator: {{.initiator}}.",
		Actions: link("View users", "/users"),
	},
	{
		ID: UserSuspended, Name: "User suspended", Group: groupUsers, Audience: UserAdmins,
		Title:   `User "{{.account_username}}" was suspended`,
		Body:    "The user **{{.account_username}}** ({{.account_name}}) was suspended. Initiator: {{.initiator}}.",
		Actions: link("View users", "/users"),
	},
	{
		ID: UserActivated, Name: "User activated", Group: groupUsers, Audience: UserAdmins,
		Title:   `User "{{.account_username}}" was activated`,
		Body:    "The user **{{.account_username}}** ({{.account_name}}) was activated. Initiator: {{.initiator}}.",
		Actions: link("View users", "/users"),
	},
	{
		ID: YourAccountSuspended, Name: "Your account was suspended", Group: groupUsers, NotifiesSuspended: true,
		Title: "Your account was suspended",
		Body:  "Your account **{{.account_username}}** was suspended by {{.initiator}}. Contact an administrator if you do not know why.",
	},
	{
		ID: YourAccountActivated, Name: "Your account was activated", Group: groupUsers,
		Title:   "Your account was activated",
		Body:    "Your account **{{.account_username}}** was activated by {{.initiator}}.",
		Actions: link("Sign in", "/login"),
	},
	{
		ID: PasswordReset, Name: "Password reset", Group: groupUsers, Required: true, Secret: true, IgnoresPause: true, Quiet: -1,
		Title: "Your passcode",
		Body: "Someone asked to reset the password of your account **{{.account_username}}**. If you did not ask for it, ignore this email: " +
			"your password has not changed.\n\nThis passcode works once, within 20 minutes:",
		Actions: link("Enter the passcode", "/reset-password"),
	},
}

var otherTemplates = []Template{
	{
		ID: Test, Name: "Test notification", Group: groupOthers, Required: true, Quiet: -1,
		Title:   "Test notification",
		Body:    "This is a test. Notifications reach you.",
		Actions: link("View notification settings", "/deployment/notifications"),
	},
	{
		ID: BrowserTest, Name: "Test notification of browsers", Group: groupOthers, Required: true, BrowsersOnly: true, Quiet: -1,
		Title:   "Test notification",
		Body:    "This is a test. Notifications reach this browser.",
		Actions: link("View notification settings", "/settings/notifications"),
	},
	{
		ID: Custom, Name: "Custom notification", Group: groupOthers, Custom: true,
		Title: "{{.custom_title}}",
		Body:  "{{.custom_message}}",
	},
}
