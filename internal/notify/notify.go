// Package notify carries hints between the rooms of a server and between
// replicas: "look again", never data. Hints go out after a commit, coalesced,
// over one NOTIFY; one LISTEN connection brings those of other replicas, and
// whoever subscribes is told to look again whenever some may have been missed.
package notify

import "github.com/google/uuid"

// Topics.

// Jobs is the topic of an organization's pending jobs.
func Jobs(organization uuid.UUID) string { return "jobs/" + organization.String() }

// Job is the topic of one job: status, log lines.
func Job(id uuid.UUID) string { return "job/" + id.String() }

// Interrupt is the topic of what ends a job from outside: it was canceled,
// or taken from its provisioner.
func Interrupt(job uuid.UUID) string { return "interrupt/" + job.String() }

// Workspace is the topic of one workspace: builds, agents, settings.
func Workspace(id uuid.UUID) string { return "workspace/" + id.String() }

// Agent is the topic of one agent: connection, life cycle, log lines.
func Agent(id uuid.UUID) string { return "agent/" + id.String() }

// Kind is the topic of everything of a kind of resource that people change and
// that has no topic of its own: templates, users, groups.
func Kind(resource string) string { return resource }

// Sharing is the topic of with whom one workspace is shared.
func Sharing(workspace uuid.UUID) string { return "sharing/" + workspace.String() }

// Rights is the topic of what one user may do: status, roles, groups, keys.
func Rights(user uuid.UUID) string { return "rights/" + user.String() }

// AllRights is the topic of what changes what many users may do at once.
func AllRights() string { return "rights_of_all" }

// Metadata is the topic of one agent's metadata.
func Metadata(agent uuid.UUID) string { return "metadata/" + agent.String() }

// Watches is the topic of whose metadata is watched from another server.
func Watches() string { return "watches" }
