package terraform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/ahead"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/sourcetree"
)

var _ provisioner.Planner = (*session)(nil)

// SavePlan returns the last plan with what it depends on.
func (s *session) SavePlan(context.Context) (saved []byte, why string, err error) {
	if !s.planned {
		return nil, "", errors.New("terraform: SavePlan before a Plan that succeeded")
	}
	p := ahead.Plan{MadeAt: time.Now()}
	if p.Basis, err = s.basis(); err != nil {
		return nil, "", err
	}
	if p.Complete, err = proto.Marshal(&provisioner.PlanComplete{
		DailyCost: s.complete.DailyCost, AiTaskCount: s.complete.AiTaskCount, ResourceReplacements: s.complete.ResourceReplacements,
	}); err != nil {
		return nil, "", err
	}
	if p.File, err = os.ReadFile(s.file(planFile)); err != nil {
		return nil, "", fmt.Errorf("read the plan: %w", err)
	}
	if len(p.File) > ahead.MaxPlan {
		return nil, "the plan is larger than " + archive.Size(ahead.MaxPlan), nil
	}
	saved, err = p.Pack()
	return saved, "", err
}

// UsePlan makes a saved plan the plan of the next Apply.
func (s *session) UsePlan(_ context.Context, saved []byte, req *provisioner.PlanRequest) (*provisioner.PlanComplete, string, error) {
	p, err := ahead.Unpack(saved)
	if err != nil {
		return nil, err.Error(), nil
	}
	if err := s.setInputs(req); err != nil {
		return nil, "", err
	}
	basis, err := s.basis()
	switch {
	case err != nil:
		return nil, "", err
	case basis != p.Basis:
		return nil, "this provisioner, or what it would plan with, differs from that of the plan", nil
	}
	done := &provisioner.PlanComplete{}
	if err := proto.Unmarshal(p.Complete, done); err != nil {
		return nil, "its result cannot be read", nil
	}
	if err := os.WriteFile(s.file(planFile), p.File, 0o600); err != nil {
		return nil, "", fmt.Errorf("write the plan: %w", err)
	}
	s.planned, s.used = true, true
	s.logf(provisioner.LogLevel_INFO, "The plan of %s is applied", p.MadeAt.UTC().Format(time.RFC3339))
	return done, "", nil
}

// Refused reports whether Terraform refused the plan of UsePlan.
func (s *session) Refused() bool { return s.refused }

// basis returns what the last plan depends on besides the source.
func (s *session) basis() (string, error) {
	return ahead.Basis(ahead.Machine{
		Tool: s.binary.tool(), Env: s.engine.baseEnv(), Dir: s.source(), Files: []string{lockHCL, sourcetree.ModulesFile, stateFile, variablesFile},
	}, s.workspace)
}
