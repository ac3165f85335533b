package inside

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/gitauth"
)

// AsksForLogin says that git runs this program as its GIT_ASKPASS, which it
// does with a question as the only argument.
func AsksForLogin(args, environ []string) bool {
	return len(args) == 2 && (strings.HasPrefix(args[1], "Username for '") || strings.HasPrefix(args[1], "Password for '")) &&
		slices.ContainsFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, "GIT_ASKPASS=") && kv != "GIT_ASKPASS=" })
}

// loginPatience bounds how long somebody may take to sign in to a git host.
const loginPatience = 10 * time.Minute

// Login answers git's question with what the server knows of its owner at that
// git host, and gives the exit status: 1, whereupon git asks at the terminal,
// when the server knows nothing of the host. (AG-19)
func Login(ctx context.Context, question string, stdout, stderr io.Writer, environ []string) int {
	ctx, cancel := context.WithTimeout(ctx, loginPatience)
	defer cancel()
	answer, err := gitauth.Login(ctx, environ, question, func(url string) {
		fmt.Fprintf(stderr, "Open this page to sign in, then git goes on:\n\n\t%s\n\n", url)
	})
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
