package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// boards are the dashboards that were checked, by UID.
type boards map[string]bool

// board is a dashboard, as far as it is checked.
type board struct {
	UID, Title, Description string
	Panels                  []panel
	Templating              struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ UID string }
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct{ Expr, RefID string }
}

var (
	variable    = regexp.MustCompile(`\$\{?(\w+)\}?`)
	labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
)

// check checks a dashboard: each panel has a title, a description, a unit and a
// place of its own, and its queries have results.
func (all boards) check(c catalog, b []byte) error {
	var d board
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	if d.UID == "" || all[d.UID] || d.Title == "" || d.Description == "" {
		return fmt.Errorf("UID %q is empty or that of another dashboard, or the title or the description is missing", d.UID)
	}
	all[d.UID] = true
	replace := map[string]string{"__rate_interval": "5m", "__range": "1h", "datasource": ""}
	var problems []error
	for _, v := range d.Templating.List {
		if v.Type == "datasource" {
			continue
		}
		replace[v.Name] = ".*"
		q, _ := v.Query.(map[string]any)
		text, _ := q["query"].(string)
		m := labelValues.FindStringSubmatch(text)
		if m == nil {
			problems = append(problems, fmt.Errorf("variable %s is not label_values(metric, label): %q", v.Name, text))
			continue
		}
		problems = append(problems, c.checkQuery(fmt.Sprintf("count by (%s) (%s)", m[2], substitute(m[1], replace)), true))
	}
	ids := map[int]bool{}
	for i, p := range d.Panels {
		if ids[p.ID] {
			problems = append(problems, fmt.Errorf("panel %q has the ID of another one", p.Title))
		}
		ids[p.ID] = true
		if err := errors.Join(p.check(c, replace), p.place(d.Panels[:i])); err != nil {
			problems = append(problems, fmt.Errorf("panel %q: %w", p.Title, err))
		}
	}
	return errors.Join(problems...)
}

// substitute replaces Grafana's variables; unknown ones remain.
func substitute(text string, values map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(v string) string {
		if value, ok := values[strings.Trim(v, "${}")]; ok {
			return value
		}
		return v
	})
}

func (p panel) check(c catalog, values map[string]string) error {
	if p.Title == "" {
		return errors.New("it has no title")
	}
	if p.Type == "row" {
		return nil
	}
	if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
		return errors.New("it lacks a description, a unit, a query or the variable of the data source")
	}
	refs := map[string]bool{}
	for _, t := range p.Targets {
		if t.RefID == "" || refs[t.RefID] {
			return fmt.Errorf("refId %q is empty or a duplicate", t.RefID)
		}
		refs[t.RefID] = true
		expr := substitute(t.Expr, values)
		if variable.MatchString(expr) {
			return fmt.Errorf("%s has a variable that the dashboard lacks", t.Expr)
		}
		if err := c.checkQuery(expr, true); err != nil {
			return err
		}
	}
	return nil
}

// place requires that a panel is within the grid and covers none of the others.
func (p panel) place(others []panel) error {
	g := p.GridPos
	if g.W <= 0 || g.H <= 0 || g.X < 0 || g.X+g.W > 24 {
		return fmt.Errorf("it is not within the 24 columns: %+v", g)
	}
	for _, o := range others {
		h := o.GridPos
		if g.X < h.X+h.W && h.X < g.X+g.W && g.Y < h.Y+h.H && h.Y < g.Y+g.H {
			return fmt.Errorf("it covers panel %q", o.Title)
		}
	}
	return nil
}
