package devcontainer

import (
	"archive/tar"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// maxContainers bounds the containers that are inspected.
const maxContainers = 500

// The agent program in a container.
const (
	agentDir  = ".coder-agent"
	agentFile = "coder"
)

// list returns all containers, newest first.
func (t tools) list(ctx context.Context) ([]codersdk.WorkspaceAgentContainer, error) {
	out, err := t.run(ctx, questionTimeout, nil, docker, "ps", "--all", "--quiet", "--no-trunc")
	if err != nil {
		return nil, err
	}
	ids := strings.Fields(string(out))
	if len(ids) == 0 {
		return []codersdk.WorkspaceAgentContainer{}, nil
	}
	args := append([]string{"inspect", "--type", "container"}, ids[:min(len(ids), maxContainers)]...)
	out, err = t.run(ctx, questionTimeout, nil, docker, args...)
	var all []inspected // a removed container causes an error, but the others are still printed
	if json.Unmarshal(out, &all) != nil {
		return nil, cmp.Or(err, errors.New("docker inspect returned invalid output"))
	}
	list := make([]codersdk.WorkspaceAgentContainer, 0, len(all))
	for _, c := range all {
		list = append(list, c.container())
	}
	return list, nil
}

// inspected is the part of docker inspect's output that is used.
type inspected struct {
	ID      string `json:"Id"`
	Name    string
	Created time.Time
	Config  struct {
		Image  string
		Labels map[string]string
	}
	State struct {
		Running bool
		Status  string
	}
	Mounts          []struct{ Source, Destination string }
	NetworkSettings struct {
		Ports map[string][]struct{ HostIP, HostPort string }
	}
}

func (i inspected) container() codersdk.WorkspaceAgentContainer {
	c := codersdk.WorkspaceAgentContainer{
		ID: i.ID, Name: strings.TrimPrefix(i.Name, "/"), CreatedAt: i.Created, Image: i.Config.Image, Labels: i.Config.Labels,
		Running: i.State.Running, Status: i.State.Status, Ports: []codersdk.WorkspaceAgentContainerPort{}, Volumes: map[string]string{},
	}
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	for _, m := range i.Mounts {
		c.Volumes[m.Source] = m.Destination
	}
	for spec, hosts := range i.NetworkSettings.Ports {
		number, network, _ := strings.Cut(spec, "/")
		port, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			continue
		}
		p := codersdk.WorkspaceAgentContainerPort{Port: int32(port), Network: network}
		if len(hosts) == 0 {
			c.Ports = append(c.Ports, p)
		}
		for _, h := range hosts {
			at, _ := strconv.ParseUint(h.HostPort, 10, 16)
			p.HostIP, p.HostPort = h.HostIP, int32(at)
			c.Ports = append(c.Ports, p)
		}
	}
	slices.SortFunc(c.Ports, func(a, b codersdk.WorkspaceAgentContainerPort) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Network, b.Network), cmp.Compare(a.HostIP, b.HostIP), cmp.Compare(a.HostPort, b.HostPort))
	})
	return c
}

// events calls each whenever a container starts or stops, starting with the
// events since that time, until docker exits or ctx ends.
func (t tools) events(ctx context.Context, since time.Time, each func()) error {
	cmd, err := t.command(ctx, docker, "events", "--since", strconv.FormatInt(since.Unix(), 10), "--filter", "type=container",
		"--filter", "event=start", "--filter", "event=die", "--filter", "event=destroy", "--format", "{{.ID}}")
	if err != nil {
		return err
	}
	complaint := &tail{}
	cmd.Stderr = complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines(out, func(string) { each() })
	err = cmd.Wait()
	return fmt.Errorf("docker events exited: %s", complaint.or(cmp.Or(err, io.EOF)))
}

// remove removes a container, and those of its Docker Compose project.
func (t tools) remove(ctx context.Context, c codersdk.WorkspaceAgentContainer) error {
	ids := []string{c.ID}
	if project := c.Labels[labelCompose]; project != "" {
		out, err := t.run(ctx, questionTimeout, nil, docker, "ps", "--all", "--quiet", "--no-trunc", "--filter", "label="+labelCompose+"="+project)
		if err != nil {
			return err
		}
		for _, id := range strings.Fields(string(out)) {
			if id != c.ID {
				ids = append(ids, id)
			}
		}
	}
	_, err := t.run(ctx, removeTimeout, nil, docker, append([]string{"rm", "--force"}, ids...)...)
	if err != nil && strings.Contains(err.Error(), "No such container") {
		return nil
	}
	return err
}

// copyAgent copies the agent program to a container.
func (t tools) copyAgent(ctx context.Context, id, executable string) error {
	f, err := os.Open(executable)
	if err != nil {
		return fmt.Errorf("cannot read the agent program: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return fmt.Errorf("cannot read the agent program: %w", err)
	}
	r, w := io.Pipe()
	defer r.Close()
	go func() {
		tw := tar.NewWriter(w)
		err := errors.Join(
			tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: agentDir + "/", Mode: 0o755, ModTime: fi.ModTime()}),
			tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: agentDir + "/" + agentFile, Mode: 0o755, Size: fi.Size(), ModTime: fi.ModTime()}),
		)
		if err == nil {
			_, err = io.Copy(tw, f)
		}
		w.CloseWithError(errors.Join(err, tw.Close()))
	}()
	if _, err := t.run(ctx, putTimeout, r, docker, "cp", "-", id+":/"); err != nil {
		return fmt.Errorf("cannot copy the agent program to the container: %w", err)
	}
	return nil
}

// serve runs the agent in a container until it exits or ctx ends. secret is
// passed as environment in a way that process lists do not show; public is
// additional environment. The error is never nil and has the reason of the
// exit.
func (t tools) serve(ctx context.Context, id, user string, secret []string, public map[string]*string) error {
	args := []string{"exec", "--interactive"}
	if user != "" {
		args = append(args, "--user", user)
	}
	for name, value := range public {
		if value != nil && name != "" && !strings.Contains(name, "=") && !strings.HasPrefix(name, "CODER_AGENT_") {
			args = append(args, "--env", name+"="+*value)
		}
	}
	for _, kv := range secret {
		name, _, _ := strings.Cut(kv, "=")
		args = append(args, "--env", name)
	}
	args = append(args, id, "/"+agentDir+"/"+agentFile, "agent", "--until-eof")
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	cmd, err := t.command(running, docker, args...)
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, secret...)
	complaint := &tail{}
	cmd.Stdout, cmd.Stderr = complaint, complaint
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		in.Close()
		time.AfterFunc(leave, kill)
	})()
	err = cmd.Wait()
	return fmt.Errorf("the agent in the container exited: %s", complaint.or(cmp.Or(err, io.EOF)))
}
