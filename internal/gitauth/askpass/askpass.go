// Package askpass answers git's prompts from the agent's cache before the rest of the program is initialized.
//
// git starts this program twice for each fetch, and most of such a run would be the initialization of packages
// that the answer does not need. Go initializes packages in the order of their import paths, each after its
// imports. This package imports only what package os imports too, so its init runs before nearly all others.
// If git asks and the agent has the answer, init prints the answer and ends the program. Otherwise it does
// nothing, and the program continues as usual.
//
// The agent answers at Path of its socket, by HTTP: GET Path?question=<prompt of git>. Status 200 has the answer
// and a line break as its body. Any other status means that the server must be asked.
package askpass

import "os"

// Path is the path at which the agent's socket serves the owner's credentials for git.
const Path = "/git-credentials"

// maxAnswer bounds an answer of the agent, in bytes.
const maxAnswer = 64 << 10

func init() {
	path, question, ok := asked(os.Args, os.Getenv)
	if !ok {
		return
	}
	answer, ok := ask(path, question)
	if !ok {
		return
	}
	if _, err := os.Stdout.WriteString(answer); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// asked returns the agent's socket and the prompt if git runs this program as GIT_ASKPASS in a workspace.
func asked(args []string, getenv func(string) string) (path, question string, ok bool) {
	if len(args) != 2 || !IsPrompt(args[1]) || getenv("GIT_ASKPASS") == "" {
		return "", "", false
	}
	path = getenv("CODER_AGENT_SOCKET_PATH")
	return path, args[1], path != ""
}

// IsPrompt reports whether an argument is a prompt of git for the credentials of a remote.
func IsPrompt(arg string) bool {
	return hasPrefix(arg, "Username for '") || hasPrefix(arg, "Password for '")
}

// hasPrefix is that of package strings, which is initialized later than this package.
func hasPrefix(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }

// request returns the HTTP request for the answer to a prompt.
func request(question string) []byte {
	const hex = "0123456789ABCDEF"
	b := append(make([]byte, 0, 512), "GET "+Path+"?question="...)
	for i := range len(question) {
		switch c := question[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			b = append(b, c)
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return append(b, " HTTP/1.0\r\nHost: agent\r\n\r\n"...)
}

// body returns the body of a whole response with status 200, which ends with a line break.
func body(response string) (string, bool) {
	if !hasPrefix(response, "HTTP/1.0 200 ") && !hasPrefix(response, "HTTP/1.1 200 ") || response[len(response)-1] != '\n' {
		return "", false
	}
	for i := range response {
		if hasPrefix(response[i:], "\r\n\r\n") {
			answer := response[i+4:]
			if answer == "\n" {
				return "", false
			}
			return answer, true
		}
	}
	return "", false
}
