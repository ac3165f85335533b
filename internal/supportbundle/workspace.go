package supportbundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

const (
	// dialLimit bounds the wait for an agent.
	dialLimit = 20 * time.Second
	// maxSourceFiles bounds the number of template files in a bundle.
	maxSourceFiles = 2000
)

func (k *collector) workspaceSteps() []Step {
	w := k.Workspace
	if w == nil {
		return nil
	}
	build := w.LatestBuild.ID.String()
	steps := []Step{
		k.file("workspace/workspace.json", "/workspaces/"+w.ID.String(), nil),
		k.file("workspace/builds.json", "/workspaces/"+w.ID.String()+"/builds", url.Values{"limit": {"20"}}),
		k.file("workspace/parameters.json", "/workspacebuilds/"+build+"/parameters", nil),
		k.file("workspace/timings.json", "/workspacebuilds/"+build+"/timings", nil),
		k.file("workspace/template.json", "/templates/"+w.TemplateID.String(), nil),
		k.file("workspace/template_version.json", "/templateversions/"+w.LatestBuild.TemplateVersionID.String(), nil),
		{Name: "workspace/build_logs.txt", Run: k.buildLogs},
	}
	if k.Agent == nil {
		return append(steps, Step{Name: "agent", Run: func(context.Context, *Bundle) error {
			return codersdk.Errorf(codersdk.CodePrecondition, "the workspace is %s and has no agent", w.LatestBuild.Status)
		}})
	}
	return append(steps,
		k.file("agent/agent.json", "/workspaceagents/"+k.Agent.ID.String(), nil),
		Step{Name: "agent/startup_logs.txt", Run: k.startupLogs},
		Step{Name: "agent", Limit: 4 * time.Minute, Run: k.collectAgent},
	)
}

func (k *collector) buildLogs(ctx context.Context, _ *Bundle) error {
	lines, err := k.client.WorkspaceBuildLogs(ctx, k.Workspace.LatestBuild.ID, nil)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&b, "%s %s %s: %s\n", l.CreatedAt.UTC().Format(time.RFC3339Nano), l.LogLevel, l.Stage, l.Output)
	}
	return k.bundle.Add("workspace/build_logs.txt", b.Bytes())
}

func (k *collector) startupLogs(ctx context.Context, _ *Bundle) error {
	lines, err := k.client.WorkspaceAgentLogs(ctx, k.Agent.ID, nil)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&b, "%s %s %s\n", l.CreatedAt.UTC().Format(time.RFC3339Nano), l.Level, l.Output)
	}
	return k.bundle.Add("agent/startup_logs.txt", b.Bytes())
}

// agentFiles are the files of a bundle that only the agent has, and their paths
// in its HTTP API.
var agentFiles = []struct{ file, path string }{
	{"agent/manifest.json", "/debug/manifest"}, {"agent/logs.txt", "/debug/logs"}, {"agent/prometheus.txt", "/debug/prometheus"},
	{"agent/listening_ports.json", "/api/v0/listening-ports"}, {"agent/connections.json", "/debug/magicsock"},
	{"agent/netcheck.json", "/debug/netcheck"},
}

// collectAgent collects the data that only the agent has. It neither starts a
// stopped workspace nor waits for a disconnected agent.
func (k *collector) collectAgent(ctx context.Context, _ *Bundle) error {
	dialing, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	conn, err := k.Connect(dialing, k.log)
	if err != nil {
		return codersdk.Errorf(codersdk.CodeUnavailable, "agent %s is %s and could not be reached", k.Agent.Name, k.Agent.Status).WithCause(err)
	}
	if conn.Close != nil {
		defer conn.Close()
	}
	for _, f := range agentFiles {
		_ = k.part(ctx, Step{Name: f.file, Run: func(ctx context.Context, b *Bundle) error {
			body, err := askAgent(ctx, conn.HTTP, f.path)
			if err != nil {
				return err
			}
			return b.Add(f.file, body)
		}}) // recorded by part
	}
	for _, s := range conn.More {
		_ = k.part(ctx, s) // recorded by part
	}
	return nil
}

// askAgent returns the response of the agent's HTTP API.
func askAgent(ctx context.Context, agent *http.Client, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://agent"+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := agent.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxPart+1))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the agent answered %s: %.200s", resp.Status, b)
	}
	return b, err
}

// template collects a template with the source of its active version.
func (k *collector) template(ctx context.Context, _ *Bundle) error {
	t, err := k.Template(ctx)
	if err != nil {
		return err
	}
	if err := k.bundle.AddJSON("template/template.json", t); err != nil {
		return err
	}
	v, err := k.client.TemplateVersion(ctx, t.ActiveVersionID)
	if err != nil {
		return err
	}
	if err := k.bundle.AddJSON("template/template_version.json", v); err != nil {
		return err
	}
	source, err := k.client.Download(ctx, "/files/"+v.Job.FileID.String(), nil)
	if err != nil {
		return err
	}
	b, err := k.sourceZip(source)
	if err != nil {
		return err
	}
	return k.bundle.Add("template/template_file.zip", b)
}

// sourceZip converts the tar archive of a template to a redacted zip file.
func (k *collector) sourceZip(source []byte) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	r := tar.NewReader(bytes.NewReader(source))
	for n := 0; ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the template's source: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if n++; n > maxSourceFiles {
			return nil, fmt.Errorf("the template has more than %d files", maxSourceFiles)
		}
		content, err := io.ReadAll(io.LimitReader(r, maxPart))
		if err != nil {
			return nil, fmt.Errorf("read %s of the template: %w", h.Name, err)
		}
		f, err := w.Create(SafeName(h.Name))
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(k.bundle.Redact(content)); err != nil {
			return nil, err
		}
		if out.Len() > maxPart {
			return nil, fmt.Errorf("the template's source is larger than %d MiB", maxPart>>20)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// SafeName returns a path that stays below the directory where a zip is
// unpacked, on every operating system.
func SafeName(name string) string {
	name = strings.NewReplacer("\\", "/", ":", "_", "\x00", "_").Replace(name)
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}
