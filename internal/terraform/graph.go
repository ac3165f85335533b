package terraform

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/graph"
)

// readPlan returns the last plan; it runs Terraform once.
func (s *session) readPlan(ctx context.Context) (*graph.Plan, error) {
	if s.planJSON == nil {
		out, err := s.output(ctx, "show", "show", "-json", "-no-color", planFile)
		if err != nil {
			return nil, err
		}
		s.planJSON = out
	}
	return graph.ReadPlan(s.planJSON)
}

// model reads the state after an apply, or the plan before one.
func (s *session) model(ctx context.Context, source provisioner.GraphSource) (*graph.Model, error) {
	if source == provisioner.GraphSource_SOURCE_STATE {
		raw, err := os.ReadFile(s.file(stateFile))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("read state: %w", err)
		}
		m, err := graph.ReadState(raw)
		if err != nil {
			return nil, &templateError{err.Error()}
		}
		return m, nil
	}
	if _, err := os.Stat(s.file(planFile)); err != nil {
		return nil, errors.New("terraform: Graph of a plan before a Plan that succeeded")
	}
	p, err := s.readPlan(ctx)
	if err != nil {
		return nil, err
	}
	dot, err := s.output(ctx, "graph", "graph")
	if err != nil {
		return nil, err
	}
	return p.Model(dot), nil
}

// graph converts the model to the wire's response.
func (s *session) graph(ctx context.Context, req *provisioner.GraphRequest) (*provisioner.GraphComplete, error) {
	m, err := s.model(ctx, req.GetSource())
	if err != nil {
		return nil, err
	}
	done, err := m.Complete(func(format string, args ...any) { s.logf(provisioner.LogLevel_WARN, format, args...) })
	if err != nil {
		return nil, &templateError{err.Error()}
	}
	return done, nil
}
