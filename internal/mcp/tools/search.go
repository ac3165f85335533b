package tools

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// searchTools are the tools with the fixed names and forms that chat programs
// expect of any server.
var searchTools = []Tool{
	toolkit.New(toolkit.Spec{
		Name: "search", Title: "Search workspaces and templates",
		Description: "Search workspaces and templates by a part of their name. fetch returns a result whole.",
		Scopes:      []codersdk.APIKeyScope{"template:read", "workspace:read"},
	}, search),
	toolkit.New(toolkit.Spec{
		Name: "fetch", Title: "Fetch a search result",
		Description: "Fetch a workspace or template that search returned, by its ID.",
		Scopes:      []codersdk.APIKeyScope{"template:read", "workspace:read"},
	}, fetch),
}

// maxFound is the maximum number of results of each kind.
const maxFound = 20

type searchInput struct {
	Query string `json:"query" jsonschema:"Part of a name; empty for all" max:"200"`
}

type foundView struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

type searchOutput struct {
	Results []foundView `json:"results"`
}

func search(ctx context.Context, c *Caller, in searchInput) (searchOutput, error) {
	out := searchOutput{Results: []foundView{}}
	p := page{Limit: maxFound}
	workspaces, err := c.Client.Workspaces(ctx, p.query(in.Query))
	if err != nil {
		return out, err
	}
	for _, w := range workspaces.Workspaces {
		out.Results = append(out.Results, c.foundWorkspace(w))
	}
	templates, err := c.Client.Templates(ctx, p.query(in.Query))
	for _, t := range templates {
		out.Results = append(out.Results, c.foundTemplate(t))
	}
	return out, err
}

func (c *Caller) foundWorkspace(w codersdk.Workspace) foundView {
	return foundView{
		ID: "workspace:" + w.ID.String(), Title: "Workspace " + w.OwnerName + "/" + w.Name,
		URL: c.AccessURL.JoinPath("@"+w.OwnerName, w.Name).String(),
	}
}

func (c *Caller) foundTemplate(t codersdk.Template) foundView {
	return foundView{
		ID: "template:" + t.ID.String(), Title: "Template " + t.Name,
		URL: c.AccessURL.JoinPath("templates", t.OrganizationName, t.Name).String(),
	}
}

type fetchInput struct {
	ID string `json:"id" jsonschema:"ID of a result of search" min:"1" max:"64"`
}

type fetchOutput struct {
	foundView
	Text string `json:"text"`
}

func fetch(ctx context.Context, c *Caller, in fetchInput) (fetchOutput, error) {
	kind, text, _ := strings.Cut(in.ID, ":")
	id, err := uuid.Parse(text)
	if err != nil || kind != "workspace" && kind != "template" {
		return fetchOutput{}, codersdk.Invalid("id", "%.64q is not an ID that search returned", in.ID)
	}
	var found foundView
	var whole any
	if kind == "workspace" {
		w, err := c.Client.Workspace(ctx, id, nil)
		if err != nil {
			return fetchOutput{}, err
		}
		found, whole = c.foundWorkspace(w), viewOneWorkspace(w)
	} else {
		t, err := c.Client.Template(ctx, id)
		if err != nil {
			return fetchOutput{}, err
		}
		found, whole = c.foundTemplate(t), viewTemplate(t)
	}
	b, err := json.Marshal(whole)
	return fetchOutput{foundView: found, Text: string(b)}, err
}
