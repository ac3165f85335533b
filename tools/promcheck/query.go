package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// checkQuery requires that an expression asks for what servers have, and that it
// can be evaluated with and without the labels of Kubernetes. With result, it
// has a result where all metrics exist.
func (c catalog) checkQuery(expr string, result bool) error {
	e, err := language.ParseExpr(expr)
	if err != nil {
		return err
	}
	var all []error
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		all = append(all, c.checkNode(n))
		return nil
	})
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("%s: %w", expr, err)
	}
	for _, s := range []series{c.sampled(targets[:2]), c.sampled(targets[2:])} {
		got, warnings, err := evaluate(s, expr, time.Unix(3*3600, 0))
		if err == nil {
			err = errors.Join(warnings.AsErrors()...)
		}
		if err == nil && result && len(got) == 0 {
			err = errors.New("it has no result")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", expr, err)
		}
	}
	return nil
}

func (c catalog) checkNode(n parser.Node) error {
	switch n := n.(type) {
	case *parser.VectorSelector:
		return c.checkSelector(n)
	case *parser.AggregateExpr:
		if n.Without {
			return errors.New("without (...) keeps labels that other versions add: name those to keep with by (...)")
		}
		return c.checkLabels(n.Grouping, n.Expr)
	case *parser.BinaryExpr:
		if n.VectorMatching == nil {
			return nil
		}
		for _, side := range []parser.Expr{n.LHS, n.RHS} {
			if err := c.checkLabels(n.VectorMatching.MatchingLabels, side); err != nil {
				return err
			}
		}
	case *parser.Call:
		return c.checkCall(n)
	}
	return nil
}

// checkSelector holds a selector to the catalog.
func (c catalog) checkSelector(s *parser.VectorSelector) error {
	m, err := c.find(s.Name)
	if err != nil {
		return err
	}
	for _, x := range s.LabelMatchers {
		values, ok := m.labels[x.Name]
		switch {
		case x.Name == labels.MetricName || ofTarget(x.Name):
		case !ok:
			return fmt.Errorf("%s has no label %s", s.Name, x.Name)
		case len(values) > 0 && !slices.ContainsFunc(values, x.Matches):
			return fmt.Errorf("%s has no value of %s that matches %s", s.Name, x.Name, x)
		}
	}
	return nil
}

// checkLabels requires that each label is one of a selector below an expression.
func (c catalog) checkLabels(names []string, below parser.Expr) error {
	for _, name := range names {
		found := ofTarget(name)
		parser.Inspect(below, func(n parser.Node, _ []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok {
				m, err := c.find(s.Name)
				_, has := m.labels[name]
				found = found || err == nil && has
			}
			return nil
		})
		if !found {
			return fmt.Errorf("nothing in %s has the label %s", below, name)
		}
	}
	return nil
}

// checkCall requires that functions of counters have counters, and that those of
// gauges have gauges.
func (c catalog) checkCall(call *parser.Call) error {
	counters := slices.Contains([]string{"rate", "irate", "increase"}, call.Func.Name)
	gauges := slices.Contains([]string{"delta", "deriv", "idelta", "predict_linear"}, call.Func.Name)
	if !counters && !gauges {
		return nil
	}
	var err error
	parser.Inspect(call.Args[0], func(n parser.Node, _ []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		m, _ := c.find(s.Name) // checkSelector reports it
		if m.kind != "" && counters == (m.kind == "gauge") {
			err = fmt.Errorf("%s of %s, which is a %s", call.Func.Name, s.Name, m.kind)
		}
		return nil
	})
	return err
}
