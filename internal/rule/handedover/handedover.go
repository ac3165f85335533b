// Package handedover is the rule by which clients know a claimed prebuilt workspace that
// serves its new owner although its build has not succeeded.
package handedover

import (
	"slices"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Serves reports whether a start that has not succeeded has agents. Agents of other builds
// appear when the build has succeeded; those of a claim can go on from the prebuild.
func Serves(b codersdk.WorkspaceBuild) bool {
	return b.Transition == codersdk.WorkspaceTransitionStart && b.Job.Status != codersdk.ProvisionerJobStatusSucceeded &&
		slices.ContainsFunc(b.Resources, func(r codersdk.WorkspaceResource) bool { return len(r.Agents) > 0 })
}
