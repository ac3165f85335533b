package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// WorkspaceAgentContainer is a container that an agent's Docker runs or ran. (AG-21)
type WorkspaceAgentContainer struct {
	CreatedAt time.Time                     `json:"created_at"`
	ID        string                        `json:"id"`
	Image     string                        `json:"image"`
	Labels    map[string]string             `json:"labels"`
	Name      string                        `json:"name"`
	Ports     []WorkspaceAgentContainerPort `json:"ports"`
	Running   bool                          `json:"running"`
	Status    string                        `json:"status"`
	Volumes   map[string]string             `json:"volumes"` // path in the container by path on the host
}

// WorkspaceAgentContainerPort is a port of a container and the host port that
// publishes it; 0 if none does.
type WorkspaceAgentContainerPort struct {
	HostIP   string `json:"host_ip,omitempty"`
	HostPort int32  `json:"host_port,omitempty"`
	Network  string `json:"network"`
	Port     int32  `json:"port"`
}

// WorkspaceAgentDevcontainerStatus is the state of a dev container.
type WorkspaceAgentDevcontainerStatus string

// Values of WorkspaceAgentDevcontainerStatus.
const (
	WorkspaceAgentDevcontainerStatusDeleting WorkspaceAgentDevcontainerStatus = "deleting"
	WorkspaceAgentDevcontainerStatusError    WorkspaceAgentDevcontainerStatus = "error"
	WorkspaceAgentDevcontainerStatusRunning  WorkspaceAgentDevcontainerStatus = "running"
	WorkspaceAgentDevcontainerStatusStarting WorkspaceAgentDevcontainerStatus = "starting"
	WorkspaceAgentDevcontainerStatusStopped  WorkspaceAgentDevcontainerStatus = "stopped"
	WorkspaceAgentDevcontainerStatusStopping WorkspaceAgentDevcontainerStatus = "stopping"
)

// WorkspaceAgentDevcontainer is a dev container of an agent. SubagentID and Agent
// describe the agent inside the container and are nil while it has none. Dirty
// is true when the configuration is newer than the container.
type WorkspaceAgentDevcontainer struct {
	Agent           *WorkspaceAgentDevcontainerAgent `json:"agent,omitempty"`
	ConfigPath      string                           `json:"config_path,omitempty"`
	Container       *WorkspaceAgentContainer         `json:"container,omitempty"`
	Dirty           bool                             `json:"dirty"`
	Error           string                           `json:"error,omitempty"`
	ID              uuid.UUID                        `json:"id"`
	Name            string                           `json:"name"`
	Status          WorkspaceAgentDevcontainerStatus `json:"status"`
	SubagentID      *uuid.UUID                       `json:"subagent_id,omitzero"`
	WorkspaceFolder string                           `json:"workspace_folder"`
}

// WorkspaceAgentDevcontainerAgent is the agent inside a dev container.
type WorkspaceAgentDevcontainerAgent struct {
	Directory string    `json:"directory"`
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
}

// WorkspaceAgentListContainersResponse lists the containers that an agent found.
type WorkspaceAgentListContainersResponse struct {
	Containers    []WorkspaceAgentContainer    `json:"containers"`
	Devcontainers []WorkspaceAgentDevcontainer `json:"devcontainers"`
	Warnings      []string                     `json:"warnings"`
}

// DeclaredDevcontainer is a coder_devcontainer of a template, with the apps and
// scripts that the template adds to the agent inside the container.
type DeclaredDevcontainer struct {
	ID              uuid.UUID              `json:"id"`
	Name            string                 `json:"name"`
	WorkspaceFolder string                 `json:"workspace_folder"`
	ConfigPath      string                 `json:"config_path,omitempty"`
	Apps            []WorkspaceApp         `json:"apps,omitempty"`
	Scripts         []WorkspaceAgentScript `json:"scripts,omitempty"`
	Environment     map[string]string      `json:"environment,omitempty"`
}
