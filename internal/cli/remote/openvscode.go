package remote

import (
	"cmp"
	"context"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func openVSCodeCommand(a *command.Run) *command.Command {
	var token bool
	var container string
	return &command.Command{
		Name: "vscode", Args: "<workspace> [<directory in workspace>]", Min: 1, Max: 2,
		Short: "Open a workspace in VS Code",
		Long: "VS Code runs on this machine and connects to the workspace, which is started if it is stopped. " +
			"Without a desktop, or inside a workspace, the URL is printed instead.",
		Complete: build.Names(a),
		Options: []*option.Option{
			option.Bool(&token, "generate-token", "Generate a session token for VS Code, so that it does not prompt for sign-in").
				Env("CODER_OPEN_VSCODE_GENERATE_TOKEN"),
			option.String(&container, "container", "Container in the workspace, by the name of the container or of its dev container").
				Short("c").
				Env("CODER_OPEN_VSCODE_CONTAINER").
				Hide(),
		},
		Run: func(ctx context.Context, args []string) error {
			c, w, name, err := workspaceAgent(ctx, a, args[0])
			if err != nil {
				return err
			}
			if w, err = running(ctx, a, c, w, connecting{}); err != nil {
				return err
			}
			agent, err := pickAgent(w, name)
			if err != nil {
				return err
			}
			q := url.Values{"url": {c.URL.String()}, "owner": {w.OwnerName}, "workspace": {w.Name}, "agent": {agent.Name}}
			what, dir := "open", append(args, "")[1]
			if container != "" {
				what = "openDevContainer"
				if err := addContainer(ctx, c, q, agent, container, dir); err != nil {
					return err
				}
			} else if dir = directory(agent, dir); dir != "" {
				q.Set("folder", dir)
			}
			if token {
				key, err := c.CreateSessionKey(ctx, "me")
				if err != nil {
					return err
				}
				q.Set("token", key.Key)
			}
			return open(ctx, a, "vscode://coder.coder-remote/"+what+"?"+q.Encode())
		},
	}
}

// Labels of the containers that the devcontainer CLI creates.
const (
	labelFolder = "devcontainer.local_folder" // in the workspace, outside the container
	labelConfig = "devcontainer.config_file"
)

// addContainer adds the container and its folder to q. dir is the folder in the
// container; it defaults to that of the dev container.
func addContainer(ctx context.Context, c *codersdk.Client, q url.Values, agent codersdk.WorkspaceAgent, name, dir string) error {
	all, err := c.WorkspaceAgentContainers(ctx, agent.ID, nil)
	if err != nil {
		return err
	}
	found, folder, err := pickContainer(all, name)
	if err != nil {
		return err
	}
	local := found.Labels[labelFolder]
	if folder = cmp.Or(folder, found.Volumes[local]); folder != "" && !path.IsAbs(dir) {
		dir = path.Join(folder, dir)
	}
	if dir == "" {
		return command.Failure("container %s has no default folder; use 'coder open vscode <workspace> <directory> --container %s'", found.Name, name)
	}
	q.Set("devContainerName", found.Name)
	q.Set("devContainerFolder", dir)
	if local != "" {
		q.Set("localWorkspaceFolder", local)
		if config := found.Labels[labelConfig]; config != "" {
			q.Set("localConfigFile", config)
		}
	}
	return nil
}

// pickContainer returns a running container by name, by ID, or by the name of
// its dev container. It also returns the working directory of the dev
// container's agent.
func pickContainer(all codersdk.WorkspaceAgentListContainersResponse, name string) (found codersdk.WorkspaceAgentContainer, folder string, err error) {
	var names []string
	for _, d := range all.Devcontainers {
		if d.Container == nil || !d.Container.Running {
			continue
		}
		if d.Agent != nil {
			folder = d.Agent.Directory
		}
		if name == d.Name || name == d.Container.Name || name == d.Container.ID {
			return *d.Container, folder, nil
		}
		names, folder = append(names, d.Name), ""
	}
	for _, c := range all.Containers {
		if !c.Running {
			continue
		}
		if name == c.Name || name == c.ID {
			return c, "", nil
		}
		names = append(names, c.Name)
	}
	if len(names) == 0 {
		return found, "", codersdk.Errorf(codersdk.CodeNotFound, "no containers are running in the workspace")
	}
	slices.Sort(names)
	return found, "", codersdk.Errorf(
		codersdk.CodeNotFound,
		"the workspace has no running container %q; it has %s",
		name,
		strings.Join(slices.Compact(names), ", "),
	)
}

// directory returns the absolute path of dir in a workspace. Relative paths are
// based on the agent's directory.
func directory(agent codersdk.WorkspaceAgent, dir string) string {
	own := agent.ExpandedDirectory
	if agent.OperatingSystem == "windows" {
		own, dir = strings.ReplaceAll(own, `\`, "/"), strings.ReplaceAll(dir, `\`, "/")
		if drive, _, ok := strings.Cut(dir, ":"); ok && len(drive) == 1 {
			own = ""
		}
		if own+dir == "" {
			return ""
		}
		return "/" + strings.TrimPrefix(path.Join(own, dir), "/")
	}
	switch {
	case dir == "":
		return own
	case path.IsAbs(dir) || strings.HasPrefix(dir, "~") || own == "":
		return dir
	}
	return path.Join(own, dir)
}
