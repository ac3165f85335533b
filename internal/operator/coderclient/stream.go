package coderclient

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// Bounds of a stream.
const (
	maxTopics = 64               // the server's limit; see codersdk.ChangesRequest
	refused   = 10 * time.Minute // delay after a server refused a stream
	unwatched = 2 * time.Hour    // time without a View after which a stream ends
	alive     = time.Minute      // interval of pings on a silent stream
	settling  = time.Second      // delay of the refresh after a stream started
)

// topicKeys is the topic of provisioner keys.
const topicKeys = string(codersdk.RBACResourceProvisionerDaemon)

// stream receives hints from a server.
type stream struct {
	access Access
	kick   chan struct{} // signals new topics

	// Guarded by Sites.mu.
	on     bool
	topics map[string]Place // of jobs/<organization>
	asked  time.Time        // time of the last View
}

// Start runs the streams until ctx ends. Before it, Views use their maximum
// age.
func (s *Sites) Start(ctx context.Context) error {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case st := <-s.wanted:
			tasks.Go(func() { s.listen(ctx, st) })
		}
	}
}

// Changed returns the channel of organizations that a stream reported as
// changed; their next View reads again.
func (s *Sites) Changed() <-chan Place { return s.changed }

// Followed reports whether a stream covers an organization.
func (s *Sites) Followed(p Place) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.streams[p.Access]
	if st == nil || !st.on {
		return false
	}
	for _, have := range st.topics {
		if have == p {
			return true
		}
	}
	return false
}

// follow adds an organization to its server's stream, after a successful read.
func (s *Sites) follow(p Place, organization uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[p.Access.URL] = p.Access.Token
	st := s.streams[p.Access]
	if st == nil {
		st = &stream{access: p.Access, kick: make(chan struct{}, 1), topics: map[string]Place{}}
		select {
		case s.wanted <- st:
			s.streams[p.Access] = st
		default:
			return // the next View tries again
		}
	}
	st.asked = s.now()
	topic := "jobs/" + organization.String()
	if _, ok := st.topics[topic]; ok || len(st.topics) >= maxTopics-1 {
		return
	}
	st.topics[topic] = p
	select {
	case st.kick <- struct{}{}:
	default:
	}
}

// listen keeps a stream connected until no View has needed it for a while.
func (s *Sites) listen(ctx context.Context, st *stream) {
	redial := lifecycle.Backoff{Limit: time.Minute}
	for ctx.Err() == nil {
		err := s.runStream(ctx, st, redial.Reset)
		s.mu.Lock()
		st.on = false
		over := s.now().Sub(st.asked) > unwatched
		if over {
			delete(s.streams, st.access)
		}
		s.mu.Unlock()
		if over {
			return
		}
		wait := redial.Next()
		if codersdk.Is(err, codersdk.CodeNotFound, codersdk.CodeUnauthenticated, codersdk.CodeForbidden, codersdk.CodePrecondition) {
			wait = refused
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// runStream runs one connection of a stream; connected is called once it is established.
func (s *Sites) runStream(ctx context.Context, st *stream, connected func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := s.Client(st.access)
	if err != nil {
		return err
	}
	c.Header = nil
	conn, err := c.Dial(ctx, "/changes", nil)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // the connection has ended
	conn.SetReadLimit(64 << 10)
	heard, failed := make(chan string), make(chan error, 1)
	go func() { failed <- read(ctx, conn, heard) }()
	if err := s.ask(ctx, conn, st); err != nil {
		return err
	}
	connected()
	pending := s.all(st)
	due := time.NewTimer(min(settling, s.spacing))
	defer due.Stop()
	last := time.Time{}
	ping := time.NewTicker(alive)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case <-st.kick:
			if err := s.ask(ctx, conn, st); err != nil {
				return err
			}
		case topic := <-heard:
			if len(pending) == 0 {
				due.Reset(max(0, s.spacing-s.now().Sub(last)))
			}
			pending = s.add(pending, st, topic)
		case <-due.C:
			s.hint(pending)
			pending, last = nil, s.now()
		case <-ping.C:
			if err := s.stillThere(ctx, conn, st); err != nil {
				return err
			}
		}
	}
}

// read passes the changes of a connection to heard.
func read(ctx context.Context, conn *websocket.Conn, heard chan<- string) error {
	for {
		_, b, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var c codersdk.Change
		if json.Unmarshal(b, &c) != nil {
			continue
		}
		select {
		case heard <- c.Topic:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ask sends the topics to the server.
func (s *Sites) ask(ctx context.Context, conn *websocket.Conn, st *stream) error {
	want := codersdk.ChangesRequest{Topics: []string{topicKeys}}
	s.mu.Lock()
	for t := range st.topics {
		want.Topics = append(want.Topics, t)
	}
	st.on = true
	s.mu.Unlock()
	b, err := json.Marshal(want)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, b)
}

// errUnwatched ends a stream that nothing needs.
var errUnwatched = codersdk.Errorf(codersdk.CodeNotFound, "the server is no longer in use")

func (s *Sites) stillThere(ctx context.Context, conn *websocket.Conn, st *stream) error {
	s.mu.Lock()
	over := s.now().Sub(st.asked) > unwatched
	s.mu.Unlock()
	if over {
		return errUnwatched
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return conn.Ping(ctx)
}

// all returns all organizations of a stream.
func (s *Sites) all(st *stream) map[Place]bool { return s.add(nil, st, topicKeys) }

// add adds the organizations that a topic belongs to.
func (s *Sites) add(places map[Place]bool, st *stream, topic string) map[Place]bool {
	if places == nil {
		places = map[Place]bool{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for t, p := range st.topics {
		if t == topic || topic == topicKeys {
			places[p] = true
		}
	}
	return places
}

// hint makes the next Views of organizations read again, and reports the
// change.
func (s *Sites) hint(places map[Place]bool) {
	for p := range places {
		s.Forget(p)
		select {
		case s.changed <- p:
		default: // the next View reads again in any case
		}
	}
}
