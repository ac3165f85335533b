package appproxy

import (
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// noResponseError explains why the app of a running workspace does not respond.
func noResponseError(t *workspaceapp.Target, cause error) error {
	where := t.URL
	if u, err := url.Parse(t.URL); err == nil {
		where = u.Host
	}
	if codersdk.Is(cause, codersdk.CodePrecondition) {
		detail := "the workspace is running, but nothing listens at " + where + "; start the app, or check the agent's log if a script starts it"
		if t.Health == codersdk.WorkspaceAppHealthInitializing {
			detail = "the app is still starting; " + where + " has not passed its health check yet"
		}
		return codersdk.Errorf(codersdk.CodeUnavailable, "%s is not running", startOfSentence(t.Title)).WithDetail("%s", detail).WithCause(cause)
	}
	return codersdk.Errorf(codersdk.CodeUnavailable, "%s did not respond", startOfSentence(t.Title)).
		WithDetail("%s in the workspace closed the connection, or does not speak %s", where, protocolOf(t.URL)).WithCause(cause)
}

func protocolOf(appURL string) string {
	if strings.HasPrefix(appURL, "https:") {
		return "HTTPS"
	}
	return "HTTP"
}

// startOfSentence capitalizes the title of a port. Titles of apps stay as the
// template has them.
func startOfSentence(title string) string {
	if strings.HasPrefix(title, "port ") {
		return "P" + title[1:]
	}
	return title
}

// checkRunning returns nil if the app's workspace is running and its agent is
// connected, or an error that says why not and what to do.
func checkRunning(t *workspaceapp.Target) error {
	unavailable := func(text, todo string) error {
		return codersdk.Errorf(codersdk.CodeUnavailable, "%s", text).WithDetail("%s", todo)
	}
	name := t.OwnerName + "/" + t.WorkspaceName
	if !t.Running || t.AgentID == uuid.Nil {
		switch t.Status {
		case codersdk.WorkspaceStatusPending, codersdk.WorkspaceStatusStarting:
			return unavailable("The workspace is starting", "reload this page once it is running; follow the start with coder show "+name)
		case codersdk.WorkspaceStatusStopping:
			return unavailable("The workspace is stopping", "start it again once it has stopped: coder start "+name)
		case codersdk.WorkspaceStatusStopped, codersdk.WorkspaceStatusRunning: // a dormant workspace keeps the status running
			return unavailable("The workspace is stopped", "start it from the dashboard, or with coder start "+name)
		case codersdk.WorkspaceStatusDeleting, codersdk.WorkspaceStatusDeleted:
			return unavailable("The workspace is being deleted", "its apps are no longer available")
		}
		return unavailable("The workspace did not start",
			"its last build failed or was canceled; check the build with coder show "+name+" and retry with coder start "+name)
	}
	switch t.Agent {
	case codersdk.WorkspaceAgentStatusConnected:
		return nil
	case codersdk.WorkspaceAgentStatusConnecting:
		return unavailable("The workspace's agent has not connected yet", "agents connect within a minute or two of the start; reload this page then")
	case codersdk.WorkspaceAgentStatusTimeout:
		return unavailable("The workspace's agent did not connect in time",
			"check the logs of the build and of the machine, or restart the workspace: coder restart "+name)
	}
	return unavailable("The workspace's agent is disconnected",
		"its machine may be down or without network; if this persists, restart the workspace: coder restart "+name)
}
