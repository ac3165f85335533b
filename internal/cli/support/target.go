package support

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// findLimit bounds the lookup of the workspace.
const findLimit = 30 * time.Second

// target is the workspace and the agent that a bundle is about.
type target struct {
	app       *command.Run
	client    *codersdk.Client
	flags     *flags
	workspace *codersdk.Workspace      // nil if no workspace was named or the server did not answer
	agent     *codersdk.WorkspaceAgent // nil if the workspace has none
	unknown   error                    // reason why the workspace is unknown
}

// find looks up the workspace and its agent. A workspace that does not exist is
// an error. A server that does not answer only makes the part fail.
func (t *target) find(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if _, err := build.ParseTarget(args[0]); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	w, name, err := build.Workspace(ctx, t.app, t.client, args[0])
	switch {
	case codersdk.Is(err, codersdk.CodeNotFound, codersdk.CodeUnauthenticated):
		return err
	case err != nil:
		t.unknown = err
		return nil
	}
	t.workspace = &w
	if len(args) == 2 {
		name = args[1]
	}
	var names []string
	for _, r := range w.LatestBuild.Resources {
		for _, agent := range r.Agents {
			names = append(names, agent.Name)
			if t.agent == nil && (name == "" && agent.ParentID == nil || agent.Name == name) {
				t.agent = &agent
			}
		}
	}
	if name != "" && t.agent == nil && len(names) > 0 {
		slices.Sort(names)
		return codersdk.Errorf(codersdk.CodeNotFound, "workspace %s has no agent %q; it has %s", w.Name, name, strings.Join(names, ", "))
	}
	return nil
}
