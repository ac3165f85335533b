package externalauth

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Request is the request of an agent for the token of its workspace's owner: at the provider ID, or at that
// of a git remote.
type Request struct {
	OwnerID, BuildID uuid.UUID
	ID, Match        string
	Listen           bool // wait until the owner has linked the provider, or ctx ends
}

// Credentials returns the token that an agent requests. If the owner has no link that works, the result has
// only the page on which the owner links the provider.
func (s *Service) Credentials(ctx context.Context, r Request) (codersdk.ExternalAuthResponse, error) {
	var none codersdk.ExternalAuthResponse
	p, err := s.requested(ctx, r)
	if err != nil {
		return none, err
	}
	if err := s.active(ctx, r.OwnerID); err != nil { // before the provider is contacted
		return none, err
	}
	hint, end := s.Changes(r.OwnerID)
	defer end()
	for {
		t, err := s.live(ctx, r.OwnerID, p)
		if suspended := s.active(ctx, r.OwnerID); suspended != nil { // the provider may have taken its time
			return none, suspended
		}
		_, missing := isNotLinked(err)
		switch {
		case err == nil:
			return codersdk.ExternalAuthResponse{
				AccessToken: t.Access, Username: p.username(), Password: t.Access, TokenExtra: t.Extra, Type: p.Type,
				ExpiresAt: t.Expires, ProviderID: p.ID,
			}, nil
		case !missing:
			return none, err
		case !r.Listen:
			return codersdk.ExternalAuthResponse{URL: s.page(p.ID), Type: p.Type, ProviderID: p.ID}, nil
		}
		if err := s.await(ctx, hint, s.c.Poll); err != nil {
			return none, err
		}
	}
}

// active returns an error if the owner of a workspace is suspended.
func (s *Service) active(ctx context.Context, ownerID uuid.UUID) error {
	owner, err := s.c.Store.UserByID(ctx, ownerID)
	if err == nil && owner.Status == string(codersdk.UserStatusSuspended) {
		err = codersdk.Errorf(codersdk.CodeForbidden, "The owner of this workspace, %s, is suspended", owner.Username)
	}
	return err
}

// requested returns the provider of a request. A remote belongs to the provider that the template of the
// running build declares; if it declares none that matches, to the first provider that matches.
func (s *Service) requested(ctx context.Context, r Request) (*provider, error) {
	if (r.ID == "") == (r.Match == "") {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "Set either id or match")
	}
	if r.ID != "" {
		return s.provider(r.ID)
	}
	var matching []*provider
	for _, p := range s.providers {
		if p.matches(r.Match) {
			matching = append(matching, p)
		}
	}
	if len(matching) > 1 {
		declared, err := s.c.Store.ExternalAuthDeclared(ctx, r.BuildID)
		if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
			return nil, err
		}
		chosen := slices.DeleteFunc(slices.Clone(matching), func(p *provider) bool {
			return !slices.ContainsFunc(declared, func(d codersdk.TemplateVersionExternalAuth) bool { return d.ID == p.ID })
		})
		if len(chosen) > 1 {
			names := make([]string, len(chosen))
			for i, p := range chosen {
				names[i] = p.ID
			}
			return nil, codersdk.Errorf(codersdk.CodeConflict, "The template declares several providers for %s: %s; request one of them by its ID",
				withoutUser(r.Match), strings.Join(names, ", "))
		}
		matching = append(chosen, matching...)
	}
	if len(matching) == 0 {
		return nil, codersdk.Errorf(codersdk.CodeNotFound, "No external authentication provider is configured for %s", withoutUser(r.Match))
	}
	return matching[0], nil
}

// withoutUser removes credentials from a git remote and bounds its length.
func withoutUser(remote string) string {
	scheme, rest, ok := strings.Cut(remote, "://")
	if !ok {
		scheme, rest = "", remote
	}
	authority, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		authority = authority[i+1:]
	}
	out := authority
	if path != "" {
		out += "/" + path
	}
	if scheme != "" {
		out = scheme + "://" + out
	}
	return out[:min(len(out), 200)]
}

// Require returns an error with instructions if the owner of a workspace lacks a link that its template
// requires. It asks the providers. A provider that does not answer passes, if there is a link.
func (s *Service) Require(ctx context.Context, ownerID uuid.UUID, declared []codersdk.TemplateVersionExternalAuth) error {
	var missing []string
	for _, d := range declared {
		if d.Optional {
			continue
		}
		p, err := s.required(d.ID)
		if err != nil {
			return err
		}
		_, err = s.live(ctx, ownerID, p)
		if reason, is := isNotLinked(err); is {
			missing = append(missing, s.instruction(p, reason))
		} else if err != nil && !codersdk.Is(err, codersdk.CodeUnavailable) {
			return err
		}
	}
	return linkFirst(missing)
}

// Missing returns the error of Require for an owner who lacks the links to these providers.
func (s *Service) Missing(ids []string) error {
	missing := make([]string, len(ids))
	for i, id := range ids {
		p, err := s.required(id)
		if err != nil {
			return err
		}
		missing[i] = s.instruction(p, "")
	}
	return linkFirst(missing)
}

// required returns a provider that a template requires.
func (s *Service) required(id string) (*provider, error) {
	p, err := s.provider(id)
	if err != nil {
		err = codersdk.Errorf(codersdk.CodePrecondition,
			"The template requires the external authentication provider %q, which this deployment does not have; an administrator must configure it", clipID(id))
	}
	return p, err
}

// instruction states how to link a provider.
func (s *Service) instruction(p *provider, reason string) string {
	text := p.DisplayName + " at " + s.page(p.ID)
	if reason != "" {
		text += " (" + reason + ")"
	}
	return text
}

// linkFirst returns the error of an owner who must follow instructions before a workspace can start; nil if there
// are none.
func linkFirst(missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	return codersdk.Errorf(codersdk.CodePrecondition, "The template requires external authentication: the owner of the workspace must link %s, then try again",
		strings.Join(missing, ", "))
}

// Tokens returns the tokens of an owner at the providers that a template declares, for the provisioner. A
// provider without a link has an empty token if it is optional or strict is false; otherwise the error is
// that of Require.
func (s *Service) Tokens(ctx context.Context, ownerID uuid.UUID, declared []codersdk.TemplateVersionExternalAuth, strict bool,
) ([]*provisioner.ExternalAuthProvider, error) {
	var out []*provisioner.ExternalAuthProvider
	for _, d := range declared {
		one := &provisioner.ExternalAuthProvider{Id: d.ID}
		out = append(out, one)
		p, err := s.provider(d.ID)
		if err != nil {
			if strict && !d.Optional {
				return nil, s.Require(ctx, ownerID, declared)
			}
			continue
		}
		t, err := s.live(ctx, ownerID, p)
		reason, missing := isNotLinked(err)
		switch {
		case err == nil:
			one.AccessToken = t.Access
		case missing && strict && !d.Optional:
			return nil, linkFirst([]string{s.instruction(p, reason)})
		case !missing && strict && !d.Optional:
			if codersdk.Is(err, codersdk.CodeUnavailable) { // a build that waits for a provider would block others
				err = codersdk.Errorf(codersdk.CodePrecondition, "The template requires external authentication: %v", err)
			}
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
	return out, nil
}

// Linked reports which of the providers that a template declares the user has linked, as far as the
// database knows.
func (s *Service) Linked(ctx context.Context, userID uuid.UUID, declared []codersdk.TemplateVersionExternalAuth) (map[string]bool, error) {
	ids := make([]string, len(declared))
	for i, d := range declared {
		ids[i] = d.ID
	}
	linked, err := s.c.Store.ExternalAuthLinked(ctx, userID, ids)
	out := map[string]bool{}
	for _, id := range linked {
		out[id] = true
	}
	return out, err
}

// Probe reports for each provider whether it answers.
func (s *Service) Probe(ctx context.Context) []codersdk.ExternalAuthHealth {
	out := make([]codersdk.ExternalAuthHealth, len(s.providers))
	var all sync.WaitGroup
	for i, p := range s.providers {
		all.Go(func() {
			out[i] = codersdk.ExternalAuthHealth{ID: p.ID, DisplayName: p.DisplayName, URL: p.TokenURL, Healthy: true}
			if err := p.probe(ctx); err != nil {
				out[i].Healthy, out[i].Error = false, err.Error()
			}
		})
	}
	all.Wait()
	return out
}
