package template

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// maxInputs bounds the values of a form.
const maxInputs = 500

// PreviewParameters gives the form of a version's parameters with some values
// filled in: every parameter with its value, what it may be, and what is wrong
// with it. What a template says only by expressions over other parameters is
// as the import found it, with their defaults. (TPL-10)
func (s *Service) PreviewParameters(ctx context.Context, actor access.Subject, id uuid.UUID, req coder.DynamicParametersRequest) (coder.DynamicParametersResponse, error) {
	out := coder.DynamicParametersResponse{ID: req.ID, Diagnostics: []coder.FriendlyDiagnostic{}, Parameters: []coder.PreviewParameter{}}
	if len(req.Inputs) > maxInputs {
		return out, coder.Invalid("inputs", "at most %d values", maxInputs)
	}
	r, err := s.imported(ctx, actor, id)
	if err != nil {
		return out, err
	}
	known := map[string]bool{}
	for i, p := range r.TemplateVersion.Parameters {
		known[p.Name] = true
		var input *string
		if v, ok := req.Inputs[p.Name]; ok {
			input = &v
		}
		out.Parameters = append(out.Parameters, p.Preview(i, input))
	}
	for _, name := range slices.Sorted(maps.Keys(req.Inputs)) {
		if !known[name] {
			out.Diagnostics = append(out.Diagnostics, coder.FriendlyDiagnostic{
				Severity: coder.DiagnosticSeverityWarning, Summary: "Unknown parameter", Detail: fmt.Sprintf("This version of the template has no parameter %.100q.", name),
			})
		}
	}
	return out, nil
}
