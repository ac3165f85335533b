package sshd_test

import (
	"io"
	"testing"
)

// BenchmarkExec runs a command in a session of its own.
func BenchmarkExec(b *testing.B) {
	addr, _ := serve(b)
	c := dial(b, addr)
	for b.Loop() {
		s, err := c.NewSession()
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Run("true"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDial makes a connection.
func BenchmarkDial(b *testing.B) {
	addr, _ := serve(b)
	for b.Loop() {
		dial(b, addr).Close()
	}
}

// BenchmarkDown reads from a command.
func BenchmarkDown(b *testing.B) {
	addr, _ := serve(b)
	s := session(b, dial(b, addr))
	out, err := s.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Start("cat /dev/zero"); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 32<<10)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		if _, err := io.ReadFull(out, buf); err != nil {
			b.Fatal(err)
		}
	}
}
