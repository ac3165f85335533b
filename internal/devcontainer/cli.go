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

	"github.com/seed-2a7f8fe7/coder"
)

// partlyError says that a container runs, but what its configuration runs in it
// failed.
type partlyError struct{ why string }

// Error says what failed.
func (e *partlyError) Error() string { return e.why }

// up brings a dev container up; say is told how it goes.
func (t tools) up(ctx context.Context, folder, config string, anew bool, say func(coder.LogLevel, string)) error {
	args := []string{"up", "--log-format", "json", "--workspace-folder", folder}
	if config != "" {
		args = append(args, "--config", config)
	}
	if anew {
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
		return &partlyError{why + "; the container runs all the same"}
	}
	return errors.New(why)
}

// logLine gives what a line of the devcontainer program's log says, "" for
// nothing that people need.
func logLine(line string) (coder.LogLevel, string) {
	var l struct {
		Type  string
		Level int
		Text  string
		Name  string
	}
	if json.Unmarshal([]byte(line), &l) != nil {
		return coder.LogLevelInfo, line
	}
	switch {
	case l.Type == "progress":
		return coder.LogLevelInfo, l.Name
	case l.Type == "stop", l.Level > 0 && l.Level < 3:
		return "", ""
	case l.Level == 4:
		return coder.LogLevelWarn, l.Text
	case l.Level > 4:
		return coder.LogLevelError, l.Text
	}
	return coder.LogLevelInfo, l.Text
}

// configuration is what the devcontainer program tells of one, as far as it is read.
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

// customization is what a configuration, or a feature of it, wants of us.
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

// read asks for the configuration of a dev container; more is the environment
// that it may refer to.
func (t tools) read(ctx context.Context, folder, config string, more []string) (configuration, error) {
	args := []string{"read-configuration", "--log-format", "json", "--include-merged-configuration", "--workspace-folder", folder}
	if config != "" {
		args = append(args, "--config", config)
	}
	with := tools{env: slices.Concat(t.env, more)}
	out, err := with.run(ctx, configTimeout, nil, devcontainerCLI, args...)
	if err != nil {
		return configuration{}, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	var c configuration
	if err := json.Unmarshal(out, &c); err != nil {
		return configuration{}, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	return c, nil
}

// user gives whom to be in the container, "" for whom its image says.
func (c configuration) user() string { return cmp.Or(c.Merged.RemoteUser, c.Merged.ContainerUser) }

// folder gives where the work is in the container.
func (c configuration) folder() string { return cmp.Or(c.Workspace.WorkspaceFolder, "/") }

// wishes are all customizations together.
type wishes struct {
	name        string
	ignore      bool
	displayApps []string
	apps        []coder.WorkspaceApp
	refused     []string // what cannot be, for people
}

// appSlug is what an app may be called: it becomes a host name.
var appSlug = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9])*$`)

// maxApps is how many apps one configuration may have.
const maxApps = 32

// custom puts the customizations together: of what several say, the last counts.
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
				w.refused = append(w.refused, fmt.Sprintf("An app is left out: its slug %.40q must be lower-case letters, digits and single hyphens between them, at most 32", a.Slug))
				continue
			}
			if a.External && strings.Contains(a.URL, "$SESSION_TOKEN") {
				w.refused = append(w.refused, fmt.Sprintf("The app %s is left out: it asks for a token of who opens it, which only an app of the template may", a.Slug))
				continue
			}
			w.apps = slices.DeleteFunc(w.apps, func(other coder.WorkspaceApp) bool { return other.Slug == a.Slug })
			if len(w.apps) == maxApps {
				w.refused = append(w.refused, fmt.Sprintf("The app %s is left out: there are %d already", a.Slug, maxApps))
				continue
			}
			order[a.Slug] = a.Order
			w.apps = append(w.apps, coder.WorkspaceApp{
				Slug: a.Slug, DisplayName: a.DisplayName, Icon: a.Icon, Command: a.Command, URL: a.URL, External: a.External, Subdomain: a.Subdomain,
				SharingLevel: coder.WorkspaceAppSharingLevel(a.Share), OpenIn: coder.WorkspaceAppOpenIn(a.OpenIn), Group: a.Group, Hidden: a.Hidden,
				Healthcheck: coder.Healthcheck{URL: a.HealthCheck.URL, Interval: a.HealthCheck.Interval, Threshold: a.HealthCheck.Threshold},
			})
		}
	}
	slices.SortStableFunc(w.apps, func(a, b coder.WorkspaceApp) int { return cmp.Compare(order[a.Slug], order[b.Slug]) })
	for name, on := range shown {
		if on {
			w.displayApps = append(w.displayApps, name)
		}
	}
	slices.Sort(w.displayApps)
	return w
}
