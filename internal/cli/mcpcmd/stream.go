package mcpcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// stream is the pair of standard input and output. At the end of the input it waits
// until all requests have their responses: a script may write its requests and
// close the pipe.
type stream struct {
	ctx context.Context
	in  io.Reader
	out io.Writer

	mu       sync.Mutex
	waiting  map[string]bool // IDs of requests without a response
	request  []byte          // of an incomplete line
	response []byte
	answered chan struct{} // receives after each response
}

func newStream(ctx context.Context, in io.Reader, out io.Writer) *stream {
	return &stream{ctx: ctx, in: in, out: out, waiting: map[string]bool{}, answered: make(chan struct{}, 1)}
}

// Read reads from the input, and delays its end.
func (s *stream) Read(b []byte) (int, error) {
	n, err := s.in.Read(b)
	s.mu.Lock()
	s.request = eachLine(append(s.request, b[:n]...), func(id string, isRequest bool) {
		if isRequest {
			s.waiting[id] = true
		} else { // canceled: no response follows
			delete(s.waiting, id)
		}
	})
	s.mu.Unlock()
	for errors.Is(err, io.EOF) && s.busy() {
		select {
		case <-s.answered:
		case <-s.ctx.Done():
			return n, err
		}
	}
	return n, err
}

// Write writes to the output.
func (s *stream) Write(b []byte) (int, error) {
	n, err := s.out.Write(b)
	s.mu.Lock()
	s.response = eachLine(append(s.response, b[:n]...), func(id string, isRequest bool) {
		if !isRequest {
			delete(s.waiting, id)
		}
	})
	s.mu.Unlock()
	select {
	case s.answered <- struct{}{}:
	default:
	}
	return n, err
}

func (s *stream) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) > 0
}

// Close does nothing: the streams belong to the process.
func (s *stream) Close() error { return nil }

// eachLine calls do for each message with an ID in the complete lines of b, and
// returns the rest.
func eachLine(b []byte, do func(id string, isRequest bool)) []byte {
	for {
		line, rest, ok := bytes.Cut(b, []byte{'\n'})
		if !ok {
			return b
		}
		b = rest
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Request json.RawMessage `json:"requestId"`
			} `json:"params"`
		}
		_ = json.Unmarshal(line, &message) // the server answers messages that are not valid
		switch {
		case message.Method == "notifications/cancelled":
			do(string(message.Params.Request), false)
		case len(message.ID) > 0:
			do(string(message.ID), message.Method != "")
		}
	}
}
