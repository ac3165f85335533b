package devcontainer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// partlyError reports a container that is running although a command of its
// configuration failed.
type partlyError struct{ why string }

// Error returns the reason of the failure.
func (e *partlyError) Error() string { return e.why }

// up runs "devcontainer up"; say receives its log.
func (t tools) up(ctx context.Context, folder, config string, replace bool, say func(codersdk.LogLevel, string)) error {
	args := []string{"up", "--log-format", "json", "--workspace-folder", folder}
	if config != "" {
		args = append(args, "--config", config)
	}
	if replace {
		args = append(args, "--remove-existing-container")
	}
	cmd, err := t.command(ctx, devcontainerCLI, args...)
	if err != nil {
		return err
	}
	out, last := &capped{limit: outputLimit}, &tail{}
	errs, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = out, w
	var read sync.WaitGroup
	read.Go(func() {
		lines(errs, func(line string) {
			level, text := logLine(line)
			for part := range strings.SplitSeq(text, "\n") {
				if part = strings.TrimRight(plain(part), " \t"); part != "" {
					say(level, part)
					fmt.Fprintln(last, part) //nolint:errcheck // it is memory
				}
			}
		})
	})
	err = cmd.Run()
	w.Close()
	read.Wait()
	var answer struct{ Outcome, Message, Description, ContainerID string }
	for line := range bytes.SplitSeq(out.b.Bytes(), []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' {
			_ = json.Unmarshal(line, &answer) // another line may be the answer
		}
	}
	switch {
	case answer.Outcome == "success":
		return nil
	case answer.Outcome == "":
		return fmt.Errorf("devcontainer up failed: %s", last.or(cmp.Or(err, errors.New("it gave no answer"))))
	}
	why := "devcontainer up failed: " + strings.TrimSpace(plain(strings.TrimSpace(answer.Description+" "+answer.Message)))
	if answer.ContainerID != "" {
		return &partlyError{why + "; the container is running nevertheless"}
	}
	return errors.New(why)
}

// logLine returns the text of a log line of the devcontainer CLI, or "" for
// lines that are not for users.
func logLine(line string) (codersdk.LogLevel, string) {
	var l struct {
		Type  string
		Level int
		Text  string
		Name  string
	}
	if json.Unmarshal([]byte(line), &l) != nil {
		return codersdk.LogLevelInfo, line
	}
	switch {
	case l.Type == "progress":
		return codersdk.LogLevelInfo, l.Name
	case l.Type == "stop", l.Level > 0 && l.Level < 3:
		return "", ""
	case l.Level == 4:
		return codersdk.LogLevelWarn, l.Text
	case l.Level > 4:
		return codersdk.LogLevelError, l.Text
	}
	return codersdk.LogLevelInfo, l.Text
}

// configuration is the part of the devcontainer CLI's output that is used.
type configuration struct {
	Merged struct {
		Customizations struct {
			Coder []customization `json:"coder"`
		} `json:"customizations"`
		RemoteUser    string             `json:"remoteUser"`
		ContainerUser string             `json:"containerUser"`
		RemoteEnv     map[string]*string `json:"remoteEnv"`
	} `json:"mergedConfiguration"`
	Workspace struct {
		WorkspaceFolder string `json:"workspaceFolder"`
	} `json:"workspace"`
}

// customization holds the "coder" customizations of a configuration or of one
// of its features.
type customization struct {
	Name        string          `json:"name"`
	Ignore      bool            `json:"ignore"`
	AutoStart   bool            `json:"autoStart"`
	DisplayApps map[string]bool `json:"displayApps"`
	Apps        []struct {
		Slug        string `json:"slug"`
		DisplayName string `json:"displayName"`
		Icon        string `json:"icon"`
		Command     string `json:"command"`
		URL         string `json:"url"`
		External    bool   `json:"external"`
		Subdomain   bool   `json:"subdomain"`
		Share       string `json:"share"`
		OpenIn      string `json:"openIn"`
		Group       string `json:"group"`
		Hidden      bool   `json:"hidden"`
		Order       int32  `json:"order"`
		HealthCheck struct {
			URL       string `json:"url"`
			Interval  int32  `json:"interval"`
			Threshold int32  `json:"threshold"`
		} `json:"healthCheck"`
	} `json:"apps"`
}

// read returns the configuration of a dev container. more is added to the
// environment that the configuration may refer to.
func (t tools) read(ctx context.Context, folder, config string, more []string) (configuration, error) {
	args := []string{"read-configuration", "--log-format", "json", "--include-merged-configuration", "--workspace-folder", folder}
	if config != "" {
		args = append(args, "--config", config)
	}
	with := tools{env: slices.Concat(t.env, more)}
	out, err := with.run(ctx, configTimeout, nil, devcontainerCLI, args...)
	if err != nil {
		return configuration{}, fmt.Errorf("cannot read the configuration: %w", err)
	}
	var c configuration
	if err := json.Unmarshal(out, &c); err != nil {
		return configuration{}, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return c, nil
}

// user returns the user in the container, or "" for that of the image.
func (c configuration) user() string { return cmp.Or(c.Merged.RemoteUser, c.Merged.ContainerUser) }

// folder returns the workspace folder in the container.
func (c configuration) folder() string { return cmp.Or(c.Workspace.WorkspaceFolder, "/") }

// wishes holds the merged customizations.
type wishes struct {
	name        string
	ignore      bool
	displayApps []string
	apps        []codersdk.WorkspaceApp
	refused     []string // messages about rejected apps, for users
}

// appSlug matches valid slugs of apps, which become part of a hostname.
var appSlug = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9])*$`)

// maxApps bounds the apps of one configuration.
const maxApps = 32

// custom merges the customizations; later ones override earlier ones.
func (c configuration) custom() wishes {
	var w wishes
	shown := map[string]bool{"vscode": true, "web_terminal": true, "ssh_helper": true, "port_forwarding_helper": true}
	order := map[string]int32{}
	for _, one := range c.Merged.Customizations.Coder {
		w.name = cmp.Or(one.Name, w.name)
		w.ignore = w.ignore || one.Ignore
		for name, on := range one.DisplayApps {
			shown[name] = on
		}
		for _, a := range one.Apps {
			if !appSlug.MatchString(a.Slug) || len(a.Slug) > 32 {
				w.refused = append(w.refused, fmt.Sprintf("App skipped: its slug %.40q must consist of lower-case letters, digits and single hyphens between "+
					"them, 32 characters at most", a.Slug))
				continue
			}
			if a.External && strings.Contains(a.URL, "$SESSION_TOKEN") {
				w.refused = append(w.refused, fmt.Sprintf("App %s skipped: it requests a session token of its users, which only apps of a template may do", a.Slug))
				continue
			}
			w.apps = slices.DeleteFunc(w.apps, func(other codersdk.WorkspaceApp) bool { return other.Slug == a.Slug })
			if len(w.apps) == maxApps {
				w.refused = append(w.refused, fmt.Sprintf("App %s skipped: the limit of %d apps is reached", a.Slug, maxApps))
				continue
			}
			order[a.Slug] = a.Order
			w.apps = append(w.apps, codersdk.WorkspaceApp{
				Slug: a.Slug, DisplayName: a.DisplayName, Icon: a.Icon, Command: a.Command, URL: a.URL, External: a.External, Subdomain: a.Subdomain,
				SharingLevel: codersdk.WorkspaceAppSharingLevel(a.Share), OpenIn: codersdk.WorkspaceAppOpenIn(a.OpenIn), Group: a.Group, Hidden: a.Hidden,
				Healthcheck: codersdk.Healthcheck{URL: a.HealthCheck.URL, Interval: a.HealthCheck.Interval, Threshold: a.HealthCheck.Threshold},
			})
		}
	}
	slices.SortStableFunc(w.apps, func(a, b codersdk.WorkspaceApp) int { return cmp.Compare(order[a.Slug], order[b.Slug]) })
	for name, on := range shown {
		if on {
			w.displayApps = append(w.displayApps, name)
		}
	}
	slices.Sort(w.displayApps)
	return w
}
