//go:build !unix

package askpass

// ask reports no answer: without Unix sockets the whole program asks the server.
func ask(string, string) (answer string, ok bool) { return "", false }
