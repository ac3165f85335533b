package simulate

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
)

// Costs are what single events cost a deployment. Processor times are in seconds of one core.
type Costs struct {
	// A Terraform build of a warm template, averaged over stops and starts.
	BuildServer      float64 `json:"build_server_seconds"`
	BuildDatabase    float64 `json:"build_database_seconds"`
	BuildProvisioner float64 `json:"build_provisioner_seconds"`
	BuildTime        float64 `json:"build_seconds"` // wall time
	BuildRows        float64 `json:"build_rows"`
	BuildBytes       float64 `json:"build_bytes"` // growth of the database

	// A page of the dashboard, with all its requests.
	PageServer   float64 `json:"page_server_seconds"`
	PageDatabase float64 `json:"page_database_seconds"`
	PageRequests float64 `json:"page_requests"`

	// An idle agent: processor time for each second, and bytes of the server.
	AgentServer     float64 `json:"agent_server_cores"`
	AgentDatabase   float64 `json:"agent_database_cores"`
	AgentMemory     float64 `json:"agent_server_bytes"`
	AgentRowsPerDay float64 `json:"agent_rows_per_day"`

	// A megabyte that an SSH session sends through the relay and receives.
	MegabyteServer float64 `json:"megabyte_server_seconds"`
	// Memory of a server and of PostgreSQL without agents.
	ServerMemory   float64 `json:"server_bytes"`
	DatabaseMemory float64 `json:"database_bytes"`
}

//go:embed costs.json
var measured []byte

// ReadCosts returns the costs in a file, and those of the last published measurement if path is "".
func ReadCosts(path string) (c Costs, err error) {
	b := measured
	if path != "" {
		if b, err = os.ReadFile(path); err != nil {
			return c, err
		}
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("read costs %s: %w", path, err)
	}
	return c, nil
}

// Write writes the costs to a file.
func (c Costs) Write(path string) error {
	b, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
