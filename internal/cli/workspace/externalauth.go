package workspace

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// How long a command waits for the user to link a provider, and how often it checks.
const (
	linkPatience = 10 * time.Minute
	linkPoll     = time.Second
)

// linkProviders shows the pages on which the owner of a workspace links the providers of external authentication
// that a template version declares, and waits for the required ones. owner is "me" or a username; for the
// workspace of another user it does nothing.
func linkProviders(ctx context.Context, a *command.Run, c *codersdk.Client, version uuid.UUID, owner string) error {
	declared, err := c.TemplateVersionExternalAuth(ctx, version)
	if codersdk.Is(err, codersdk.CodeNotFound) { // an older server
		return nil
	}
	if err != nil || len(declared) == 0 {
		return err
	}
	if owner != "me" {
		me, err := c.User(ctx, "me")
		if err != nil || !strings.EqualFold(me.Username, owner) {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, linkPatience)
	defer cancel()
	p := a.Painter(a.Stderr)
	for _, d := range declared {
		linked, err := isLinked(ctx, c, d)
		switch {
		case err != nil:
			return err
		case linked:
			continue
		case d.Optional:
			fmt.Fprintf(a.Stderr, "The template can use your %s account. To link it, open %s\n", d.DisplayName, d.AuthenticateURL)
			continue
		}
		fmt.Fprintf(a.Stderr, "The template requires your %s account. Open this page to link it; the command then continues:\n\n\t%s\n\n",
			p.Bold(d.DisplayName), d.AuthenticateURL)
		if err := waitForLink(ctx, c, d); err != nil {
			return err
		}
		fmt.Fprintf(a.Stderr, "%s is linked.\n", d.DisplayName)
	}
	return nil
}

// isLinked reports whether the user's link to a provider works. A provider that the deployment does not have
// is never linked.
func isLinked(ctx context.Context, c *codersdk.Client, d codersdk.TemplateVersionExternalAuth) (bool, error) {
	got, err := c.ExternalAuth(ctx, d.ID)
	switch {
	case codersdk.Is(err, codersdk.CodeNotFound) && d.Optional:
		return false, nil
	case codersdk.Is(err, codersdk.CodeUnavailable) && d.Authenticated:
		return true, nil // the provider does not answer, but there is a link
	}
	return got.Authenticated, err
}

func waitForLink(ctx context.Context, c *codersdk.Client, d codersdk.TemplateVersionExternalAuth) error {
	tick := time.NewTicker(linkPoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return codersdk.Errorf(codersdk.CodePrecondition, "the template requires your %s account; link it at %s and run the command again",
				d.DisplayName, d.AuthenticateURL)
		}
		linked, err := isLinked(ctx, c, d)
		if linked || err != nil && ctx.Err() == nil && !codersdk.Is(err, codersdk.CodeUnavailable) {
			return err
		}
	}
}
