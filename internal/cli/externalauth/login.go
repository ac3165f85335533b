package externalauth

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/gitauth"
)

// AsksForLogin reports whether git runs this program as GIT_ASKPASS, with a
// prompt as the only argument.
func AsksForLogin(args, environ []string) bool {
	return len(args) == 2 && gitauth.IsPrompt(args[1]) &&
		slices.ContainsFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, "GIT_ASKPASS=") && kv != "GIT_ASKPASS=" })
}

// loginPatience bounds the time for a user to sign in to a git host, and for an outage of one.
const loginPatience = 10 * time.Minute

// Login answers git's prompt with the owner's credentials for the git host, and
// returns the exit status. Status 1 makes git prompt on the terminal, when the
// server has no credentials for the host. (AG-19)
func Login(ctx context.Context, question string, stdout, stderr io.Writer, environ []string) int {
	ctx, cancel := context.WithTimeout(ctx, loginPatience)
	defer cancel()
	asker := gitauth.Asker{Env: environ, Tell: func(text string) { fmt.Fprintln(stderr, text) }}
	answer, err := asker.Answer(ctx, question)
	if err != nil {
		fmt.Fprintf(stderr, "coder: %v\n", err)
		return 1
	}
	if answer == "" {
		return 1
	}
	fmt.Fprintln(stdout, answer)
	return 0
}
