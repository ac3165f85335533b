package state

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// stateFile holds the fields that identify a Terraform state (format version
// 4). Each new state has a random lineage, and Terraform increments the
// serial with every change.
type stateFile struct {
	Version   int    `json:"version"`
	Lineage   string `json:"lineage"`
	Serial    int64  `json:"serial"`
	Resources []struct {
		Module    string `json:"module"`
		Mode      string `json:"mode"`
		Type      string `json:"type"`
		Name      string `json:"name"`
		Instances []struct {
			Attributes struct {
				ID any `json:"id"`
			} `json:"attributes"`
		} `json:"instances"`
	} `json:"resources"`
}

// resources returns the managed resources of the state, as addresses with IDs.
func (s stateFile) resources() (all []string) {
	for _, r := range s.Resources {
		for _, i := range r.Instances {
			if r.Mode == "managed" && i.Attributes.ID != nil {
				all = append(all, fmt.Sprintf("%s.%s.%s %v", r.Module, r.Type, r.Name, i.Attributes.ID))
			}
		}
	}
	return all
}

// checkState returns an error if the pushed state belongs to another workspace
// than the current one, or is older. A workspace without a state accepts any.
func checkState(workspace string, current, pushed []byte) error {
	const anyway = "; use --force to push it anyway"
	var now, next stateFile
	if err := json.Unmarshal(pushed, &next); err != nil || next.Version == 0 {
		return command.Failure("the file is not a Terraform state%s", anyway)
	}
	if len(current) == 0 {
		return nil
	}
	if err := json.Unmarshal(current, &now); err != nil {
		return command.Failure("the state of %s is not JSON and cannot be compared with the file%s", workspace, anyway)
	}
	switch {
	case now.Lineage != "" && next.Lineage != now.Lineage:
		return command.Failure("the file is not a state of %s: its lineage is %q, but that of the workspace is %q%s", workspace, next.Lineage, now.Lineage, anyway)
	case next.Serial < now.Serial:
		return command.Failure(
			"the file is older than the state of %s: its serial is %d, but that of the workspace is %d%s",
			workspace,
			next.Serial,
			now.Serial,
			anyway,
		)
	}
	ours, theirs := now.resources(), next.resources()
	if len(ours) > 0 && len(theirs) > 0 && !slices.ContainsFunc(theirs, func(r string) bool { return slices.Contains(ours, r) }) {
		return command.Failure("the file has no resource in common with the state of %s%s", workspace, anyway)
	}
	return nil
}
