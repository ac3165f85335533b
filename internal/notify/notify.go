// Package notify carries hints between the packages of a server and between
// replicas. A hint names a topic that changed and carries no data: the
// subscriber reads again. Hints are sent after the commit, several topics in
// one NOTIFY. One LISTEN connection receives the hints of other replicas, and
// all subscribers are signaled whenever some may have been missed.
package notify

import "github.com/google/uuid"

// Topics.

// Jobs is the topic of an organization's pending jobs.
func Jobs(organization uuid.UUID) string { return "jobs/" + organization.String() }

// Job is the topic of one job: its status and log lines.
func Job(id uuid.UUID) string { return "job/" + id.String() }

// Interrupt is the topic of a job that is stopped from outside: canceled, or
// taken from its provisioner.
func Interrupt(job uuid.UUID) string { return "interrupt/" + job.String() }

// Workspace is the topic of one workspace: its builds, agents and settings.
func Workspace(id uuid.UUID) string { return "workspace/" + id.String() }

// Agent is the topic of one agent: its connection, lifecycle and log lines.
func Agent(id uuid.UUID) string { return "agent/" + id.String() }

// Kind is the topic of all resources of a kind that has no finer topics, such
// as templates, users and groups.
func Kind(resource string) string { return resource }

// Sharing is the topic of one workspace's access list.
func Sharing(workspace uuid.UUID) string { return "sharing/" + workspace.String() }

// Rights is the topic of one user's permissions: status, roles, groups and
// keys.
func Rights(user uuid.UUID) string { return "rights/" + user.String() }

// AllRights is the topic of changes to the permissions of many users at once.
func AllRights() string { return "rights_of_all" }

// ExternalAuth is the topic of a user's links to external providers.
func ExternalAuth(user uuid.UUID) string { return "external-auth/" + user.String() }

// UserSecrets is the topic of a user's secrets, or of a template that permits or
// disables them.
func UserSecrets(id uuid.UUID) string { return "user-secrets/" + id.String() }

// Metadata is the topic of one agent's metadata.
func Metadata(agent uuid.UUID) string { return "metadata/" + agent.String() }

// Watches is the topic of agents whose metadata is watched from another server.
func Watches() string { return "watches" }

// Inbox is the topic of one user's notifications.
func Inbox(user uuid.UUID) string { return "inbox/" + user.String() }
