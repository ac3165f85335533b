package planahead

import (
	"context"
	"errors"

	"github.com/google/uuid"

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

// versionKey is a template version with or without the files of its modules.
type versionKey struct {
	id      uuid.UUID
	modules bool
}

// verdict returns what the source of a template version permits.
func (s *Service) verdict(ctx context.Context, r workspace.Rehearsal) (ahead.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := versionKey{id: r.VersionID, modules: r.Modules != nil}
	if v, ok := s.verdicts[key]; ok {
		return v, nil
	}
	var modules []byte
	if r.Modules != nil {
		var err error
		if modules, err = s.Store.BuildSource(ctx, *r.Modules); err != nil {
			return ahead.Verdict{}, err
		}
	}
	v := ahead.Read(r.Source, modules)
	if len(s.verdicts) >= maxVerdicts {
		clear(s.verdicts)
	}
	s.verdicts[key] = v
	return v, nil
}
