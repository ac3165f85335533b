package planahead

import (
	"context"
	"errors"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/ahead"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// whyNot returns why the start of a workspace cannot be planned ahead, "" if it can. failed is
// the error of its rehearsal.
func (s *Service) whyNot(ctx context.Context, r workspace.Rehearsal, failed error) (string, error) {
	if e, ok := errors.AsType[*codersdk.Error](failed); ok && !codersdk.Is(failed, codersdk.CodeInternal, codersdk.CodeUnavailable) {
		return "the workspace cannot be started: " + e.Message, nil
	}
	if failed != nil {
		return "", failed
	}
	if r.Build.GetMetadata().GetPrebuiltWorkspaceBuildStage() != provisioner.PrebuiltWorkspaceBuildStage_NONE {
		return "the next start hands the workspace over to its owner", nil
	}
	verdict, err := s.verdict(ctx, r)
	switch {
	case err != nil:
		return "", err
	case verdict.Because != "":
		return verdict.Because, nil
	case !verdict.Vouched:
		return ahead.OfState(r.Build.GetState()), nil
	}
	return "", nil
}

// verdict returns what the source of a template version permits.
func (s *Service) verdict(ctx context.Context, r workspace.Rehearsal) (ahead.Verdict, error) {
	return s.verdicts.Read(ahead.Source{Version: r.VersionID, Modules: r.Modules != nil}, func() (source, modules []byte, err error) {
		if source, err = s.Store.BuildSource(ctx, r.Job.ProvisionerJob.FileID); err == nil && r.Modules != nil {
			modules, err = s.Store.BuildSource(ctx, *r.Modules)
		}
		return source, modules, err
	})
}
