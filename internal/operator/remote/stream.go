package remote

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
)

// Bounds of a stream.
const (
	maxTopics = 64               // a server takes no more; see coder.ChangesRequest
	refused   = 10 * time.Minute // until a server is asked again that has no streams, or none for us
	unwatched = 2 * time.Hour    // after how long without a View a stream ends
	alive     = time.Minute      // how often a peer that says nothing is asked whether it is there
	settling  = time.Second      // what happens while a stream begins is made up for after this
)

// topicKeys is the topic of provisioner keys that people or we change.
const topicKeys = string(coder.RBACResourceProvisionerDaemon)

// stream hears from a server when something changed.
type stream struct {
	access Access
	kick   chan struct{} // there are more topics

	// Guarded by Sites.mu.
	on     bool
	topics map[string]Place // of jobs/<organization>
	asked  time.Time        // when somebody wanted a View last
}

// Start keeps the streams until ctx ends. Until then all Views are as old as
// they may be.
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

// Changed gives the places of which a stream said that they changed; their next
// View is a fresh one.
func (s *Sites) Changed() <-chan Place { return s.changed }

// Followed says whether a stream would tell that a place changed.
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

// follow has a place followed whose server was asked, with success.
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
			return // there will be another View
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

// listen hears a stream, and dials it again when it is lost, until nobody wants
// it any more.
func (s *Sites) listen(ctx context.Context, st *stream) {
	redial := client.Redial{Limit: time.Minute}
	for ctx.Err() == nil {
		err := s.hear(ctx, st, redial.Reset)
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
		if coder.Is(err, coder.CodeNotFound, coder.CodeUnauthenticated, coder.CodeForbidden, coder.CodePrecondition) {
			wait = refused
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// hear is one connection of a stream; begun is called when it stands.
func (s *Sites) hear(ctx context.Context, st *stream, begun func()) error {
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
	defer conn.CloseNow() //nolint:errcheck // whatever it says, it is over
	conn.SetReadLimit(64 << 10)
	heard, failed := make(chan string), make(chan error, 1)
	go func() { failed <- read(ctx, conn, heard) }()
	if err := s.ask(ctx, conn, st); err != nil {
		return err
	}
	begun()
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

// read gives what a connection tells to heard.
func read(ctx context.Context, conn *websocket.Conn, heard chan<- string) error {
	for {
		_, b, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var c coder.Change
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

// ask names the topics to the server.
func (s *Sites) ask(ctx context.Context, conn *websocket.Conn, st *stream) error {
	want := coder.ChangesRequest{Topics: []string{topicKeys}}
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

// errUnwatched ends a stream that nobody wants any more.
var errUnwatched = coder.Errorf(coder.CodeNotFound, "nobody asks of this server any more")

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

// all gives all places of a stream.
func (s *Sites) all(st *stream) map[Place]bool { return s.add(nil, st, topicKeys) }

// add adds the places that a topic stands for.
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

// hint makes the next Views of places fresh ones, and says so.
func (s *Sites) hint(places map[Place]bool) {
	for p := range places {
		s.Forget(p)
		select {
		case s.changed <- p:
		default: // whoever looks next finds it
		}
	}
}
