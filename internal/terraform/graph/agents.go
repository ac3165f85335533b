package graph

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/graph/attribute"
)

// agent reads one coder_agent that runs in home.
func (g *assembly) agent(i, home *instance) (*provisioner.Agent, error) {
	a := attribute.Agent{Auth: "token", APIKeyScope: "all"}
	if err := i.decode(&a); err != nil {
		return nil, err
	}
	agent := &provisioner.Agent{
		Id: a.ID, Name: i.name, Env: a.Env, OperatingSystem: a.OS, Architecture: a.Arch, Directory: a.Dir,
		ConnectionTimeoutSeconds: 120, TroubleshootingUrl: a.TroubleshootURL, MotdFile: a.MotdFile,
		Order: a.Order, ApiKeyScope: a.APIKeyScope, DisplayApps: displayApps(a), ResourcesMonitoring: monitoring(a),
	}
	if a.ConnectionTimeout != nil {
		agent.ConnectionTimeoutSeconds = *a.ConnectionTimeout
	}
	if a.Auth == "token" || a.Auth == "" {
		agent.Auth = &provisioner.Agent_Token{Token: a.Token}
	} else {
		agent.Auth = &provisioner.Agent_InstanceId{InstanceId: g.instanceID(i, home)}
	}
	for _, m := range a.Metadata {
		agent.Metadata = append(agent.Metadata, &provisioner.Agent_Metadata{
			Key: m.Key, DisplayName: m.DisplayName, Script: m.Script, Interval: m.Interval, Timeout: m.Timeout, Order: m.Order,
		})
	}
	if a.StartupScript != "" {
		agent.Scripts = append(agent.Scripts, &provisioner.Script{
			DisplayName: "Startup Script", Icon: "/emojis/25b6-fe0f.png", Script: a.StartupScript, LogPath: "coder-startup-script.log",
			RunOnStart: true, StartBlocksLogin: a.StartupBehavior == "blocking",
		})
	}
	if a.ShutdownScript != "" {
		agent.Scripts = append(agent.Scripts, &provisioner.Script{
			DisplayName: "Shutdown Script", Icon: "/emojis/25c0.png", Script: a.ShutdownScript, LogPath: "coder-shutdown-script.log",
			RunOnStop: true,
		})
	}
	return agent, nil
}

// displayApps returns the enabled built-in apps, or the defaults if they are
// unknown before an apply.
func displayApps(a attribute.Agent) *provisioner.DisplayApps {
	if len(a.DisplayApps) == 0 {
		return &provisioner.DisplayApps{Vscode: true, WebTerminal: true, SshHelper: true, PortForwardingHelper: true}
	}
	d := a.DisplayApps[0]
	return &provisioner.DisplayApps{
		Vscode: d.VSCode, VscodeInsiders: d.VSCodeInsiders, WebTerminal: d.WebTerminal,
		SshHelper: d.SSHHelper, PortForwardingHelper: d.PortForwarding,
	}
}

func monitoring(a attribute.Agent) *provisioner.ResourcesMonitoring {
	all := &provisioner.ResourcesMonitoring{}
	for _, m := range a.Monitoring {
		for _, memory := range m.Memory {
			all.Memory = &provisioner.MemoryResourceMonitor{Enabled: memory.Enabled, Threshold: memory.Threshold}
		}
		for _, v := range m.Volumes {
			all.Volumes = append(all.Volumes, &provisioner.VolumeResourceMonitor{Path: v.Path, Enabled: v.Enabled, Threshold: v.Threshold})
		}
	}
	return all
}

// instanceID returns the cloud's id of the machine of an agent with instance
// identity: from coder_agent_instance, or from the machine's resource.
func (g *assembly) instanceID(agent, home *instance) string {
	for _, i := range g.of("managed", "coder_agent_instance") {
		if g.target(i, "agent_id", []*instance{agent}) != agent {
			continue
		}
		var v struct {
			InstanceID string `json:"instance_id"`
		}
		if i.decode(&v) == nil {
			return v.InstanceID
		}
	}
	argument := map[string]string{
		"google_compute_instance":         "instance_id",
		"aws_instance":                    "id",
		"aws_spot_instance_request":       "spot_instance_id",
		"azurerm_linux_virtual_machine":   "virtual_machine_id",
		"azurerm_windows_virtual_machine": "virtual_machine_id",
	}[home.typ]
	values := map[string]any{}
	_ = home.decode(&values)
	id, _ := values[argument].(string)
	return id
}

// agentOf returns the agent that a coder resource belongs to, or nil if that
// agent does not run, as in a stopped workspace.
func (g *assembly) agentOf(i *instance) *provisioner.Agent {
	t := g.target(i, "agent_id", g.of("managed", "coder_agent"))
	if t == nil {
		return nil
	}
	return g.agents[t]
}

// appSlug matches a valid slug, which becomes part of a host name.
var appSlug = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9])*$`)

func (g *assembly) addApps(*provisioner.GraphComplete) error {
	slugs := map[string]string{}
	for _, i := range g.of("managed", "coder_app") {
		agent, inner := g.agentOf(i), g.devcontainerOf(i)
		if agent == nil && inner == nil {
			continue
		}
		a := attribute.App{Share: "owner", OpenIn: "slim-window"}
		if err := i.decode(&a); err != nil {
			return err
		}
		if !appSlug.MatchString(a.Slug) {
			return fmt.Errorf("%s: the slug %q must be lower-case letters, digits and single hyphens between them", i.address, a.Slug)
		}
		if other, ok := slugs[a.Slug]; ok {
			return fmt.Errorf("%s and %s have the same slug %q; app slugs must be unique in a template", other, i.address, a.Slug)
		}
		slugs[a.Slug] = i.address
		if inner != nil {
			inner.Apps = append(inner.Apps, app(i, a))
		} else {
			agent.Apps = append(agent.Apps, app(i, a))
		}
	}
	for _, inner := range g.inner {
		slices.SortStableFunc(inner.Apps, func(a, b *provisioner.App) int { return int(a.GetOrder() - b.GetOrder()) })
	}
	for _, agent := range g.agents {
		slices.SortStableFunc(agent.Apps, func(a, b *provisioner.App) int { return int(a.GetOrder() - b.GetOrder()) })
	}
	return nil
}

func app(i *instance, a attribute.App) *provisioner.App {
	out := &provisioner.App{
		Slug: a.Slug, DisplayName: a.DisplayName, Command: a.Command, Url: a.URL, Icon: a.Icon, Subdomain: a.Subdomain,
		External: a.External, Order: a.Order, Hidden: a.Hidden, Group: a.Group, Id: a.ID, Tooltip: a.Tooltip,
		OpenIn: provisioner.AppOpenIn_SLIM_WINDOW,
	}
	if out.DisplayName == "" {
		out.DisplayName = i.name
	}
	switch a.Share {
	case "authenticated":
		out.SharingLevel = provisioner.AppSharingLevel_AUTHENTICATED
	case "public":
		out.SharingLevel = provisioner.AppSharingLevel_PUBLIC
	}
	switch a.OpenIn {
	case "tab":
		out.OpenIn = provisioner.AppOpenIn_TAB
	case "window":
		out.OpenIn = provisioner.AppOpenIn_WINDOW
	}
	for _, h := range a.Healthcheck {
		out.Healthcheck = &provisioner.Healthcheck{Url: h.URL, Interval: h.Interval, Threshold: h.Threshold}
	}
	return out
}

func (g *assembly) addScripts(*provisioner.GraphComplete) error {
	for _, i := range g.of("managed", "coder_script") {
		agent, inner := g.agentOf(i), g.devcontainerOf(i)
		if agent == nil && inner == nil {
			continue
		}
		var a attribute.Script
		if err := i.decode(&a); err != nil {
			return err
		}
		script := &provisioner.Script{
			DisplayName: a.DisplayName, Icon: a.Icon, Script: a.Script, Cron: a.Cron, StartBlocksLogin: a.StartBlocksLogin,
			RunOnStart: a.RunOnStart, RunOnStop: a.RunOnStop, TimeoutSeconds: a.Timeout, LogPath: a.LogPath,
		}
		if inner != nil {
			inner.Scripts = append(inner.Scripts, script)
		} else {
			agent.Scripts = append(agent.Scripts, script)
		}
	}
	return nil
}

// addEnvs merges the coder_env resources of the same name in the order of their
// addresses.
func (g *assembly) addEnvs(*provisioner.GraphComplete) error {
	merged := map[any]map[string]string{} // by agent, or by its dev container
	for _, i := range g.of("managed", "coder_env") {
		var of any
		if inner := g.devcontainerOf(i); inner != nil {
			of = inner
		} else if agent := g.agentOf(i); agent != nil {
			of = agent
		} else {
			continue
		}
		var a attribute.Env
		if err := i.decode(&a); err != nil {
			return err
		}
		if merged[of] == nil {
			merged[of] = map[string]string{}
		}
		value, known := merged[of][a.Name]
		switch {
		case known && a.MergeStrategy == "error":
			return fmt.Errorf("%s: %s is already defined by another coder_env", i.address, a.Name)
		case known && a.MergeStrategy == "append":
			value += ":" + a.Value
		case known && a.MergeStrategy == "prepend":
			value = a.Value + ":" + value
		default:
			value = a.Value
		}
		merged[of][a.Name] = value
	}
	for of, env := range merged {
		var list []*provisioner.Env
		for _, name := range slices.Sorted(maps.Keys(env)) {
			list = append(list, &provisioner.Env{Name: name, Value: env[name]})
		}
		switch of := of.(type) {
		case *provisioner.Devcontainer:
			of.Envs = list
		case *provisioner.Agent:
			of.ExtraEnvs = list
		}
	}
	return nil
}

func (g *assembly) addDevcontainers(*provisioner.GraphComplete) error {
	g.inner = map[*instance]*provisioner.Devcontainer{}
	for _, i := range g.of("managed", "coder_devcontainer") {
		agent := g.agentOf(i)
		if agent == nil {
			continue
		}
		var a attribute.Devcontainer
		if err := i.decode(&a); err != nil {
			return err
		}
		g.inner[i] = &provisioner.Devcontainer{Name: i.name, WorkspaceFolder: a.WorkspaceFolder, ConfigPath: a.ConfigPath}
		agent.Devcontainers = append(agent.Devcontainers, g.inner[i])
	}
	return nil
}

// devcontainerOf returns the dev container whose agent a coder resource names
// by its subagent_id, or nil.
func (g *assembly) devcontainerOf(i *instance) *provisioner.Devcontainer {
	var named struct {
		AgentID string `json:"agent_id"`
	}
	_ = i.decode(&named) // it may still be unknown
	var meant []*instance
	for _, d := range g.of("managed", "coder_devcontainer") {
		var a attribute.Devcontainer
		_ = d.decode(&a) // likewise
		local := d.resource()
		switch {
		case g.inner[d] == nil:
		case named.AgentID != "" && named.AgentID == a.SubagentID:
			return g.inner[d]
		case named.AgentID == "" && (slices.Contains(i.refs["agent_id"], local) || d.key != "" && slices.Contains(i.refs["agent_id"], local+"["+d.key+"]")):
			meant = append(meant, d)
		}
	}
	if d := closest(i, meant); d != nil {
		return g.inner[d]
	}
	return nil
}

// addMetadata adds coder_metadata to the resource that it names.
func (g *assembly) addMetadata(*provisioner.GraphComplete) error {
	computes, owner := g.computes(), map[*instance]string{}
	for _, i := range g.of("managed", "coder_metadata") {
		var a attribute.Metadata
		if err := i.decode(&a); err != nil {
			return err
		}
		t := g.target(i, "resource_id", computes)
		if t == nil {
			g.warn("%s does not refer to a resource of the workspace and is ignored", i.address)
			continue
		}
		if other, ok := owner[t]; ok {
			return fmt.Errorf("%s and %s both refer to %s; a resource can have only one coder_metadata", other, i.address, t.address)
		}
		owner[t] = i.address
		r := g.resources[t]
		r.Hide, r.Icon, r.DailyCost = a.Hide, a.Icon, a.DailyCost
		keys := map[string]bool{}
		for _, item := range a.Items {
			if keys[item.Key] {
				return fmt.Errorf("%s: the item %q appears twice", i.address, item.Key)
			}
			keys[item.Key] = true
			m := &provisioner.Resource_Metadata{Key: item.Key, Sensitive: item.Sensitive, IsNull: item.IsNull || item.Value == nil}
			if item.Value != nil {
				m.Value = *item.Value
			}
			r.Metadata = append(r.Metadata, m)
		}
	}
	return nil
}
