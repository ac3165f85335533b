//go:build unix

package askpass

import "syscall"

// patience bounds each step with the agent, which answers from its memory, in seconds.
const patience = 2

// ask requests the answer from the agent at a socket. The package net is initialized later than this package.
func ask(path, question string) (answer string, ok bool) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "", false
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing is lost
	limit := syscall.Timeval{Sec: patience}
	for _, option := range []int{syscall.SO_RCVTIMEO, syscall.SO_SNDTIMEO} {
		if syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, option, &limit) != nil {
			return "", false
		}
	}
	if again(func() error { return syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}) }) != nil {
		return "", false
	}
	for rest := request(question); len(rest) > 0; {
		var n int
		if again(func() (err error) { n, err = syscall.Write(fd, rest); return err }) != nil {
			return "", false
		}
		rest = rest[n:]
	}
	b := make([]byte, 0, 4096)
	for len(b) < maxAnswer {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		var n int
		if again(func() (err error) { n, err = syscall.Read(fd, b[len(b):cap(b)]); return err }) != nil {
			return "", false
		}
		if n == 0 {
			return body(string(b))
		}
		b = b[:len(b)+n]
	}
	return "", false
}

// again repeats a system call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}
