package queue

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// stale is how long a daemon is believed to be there after it was seen; beat
// is how often a connected one is marked as seen. (PRV-14)
const (
	stale = 90 * time.Second
	beat  = 30 * time.Second
)

// Daemon is what a provisioner says of itself when it connects.
type Daemon struct {
	OrganizationID uuid.UUID
	KeyID          uuid.UUID // a key's, or one of the reserved ids
	Name           string
	Tags           coder.Tags // normalized
	Provisioners   []string
	Version        string   // of the program
	APIVersion     string   // of the wire
	Slots          int      // jobs it takes at once, over a connection each; 0 means 1
	Tools          []string // what it runs, such as terraform/1.11.4
	// Shared is the same for the rows of one daemon that serves several
	// organizations; Nil for one that serves its own alone.
	Shared uuid.UUID
}

// Hello records a daemon that connected and gives the id of its row, which is
// the one it had when it was here before under the same name. The caller calls
// gone when the connection ends. (PRV-13)
func (s *Service) Hello(ctx context.Context, d Daemon) (id uuid.UUID, gone func(), err error) {
	p := sqlc.QueueDaemonHelloParams{
		ID: uuid.New(), OrganizationID: d.OrganizationID, KeyID: d.KeyID, Name: clean(d.Name, 200),
		Owner: d.Tags[coder.TagOwner], Provisioners: d.Provisioners, Tags: d.Tags,
		Version: clean(d.Version, 200), ApiVersion: clean(d.APIVersion, 20),
		Slots: int32(max(d.Slots, 1)), Tools: orEmpty(d.Tools),
	}
	if d.Shared != uuid.Nil {
		p.SharedID = &d.Shared
	}
	if id, err = s.Store.QueueDaemonHello(ctx, p); err != nil {
		return uuid.Nil, nil, err
	}
	s.mu.Lock()
	s.connected[id]++
	s.mu.Unlock()
	return id, func() { s.goodbye(id) }, nil
}

// goodbye marks a daemon as offline when its last connection here ended.
func (s *Service) goodbye(id uuid.UUID) {
	s.mu.Lock()
	s.connected[id]--
	last := s.connected[id] <= 0
	if last {
		delete(s.connected, id)
	}
	s.mu.Unlock()
	if !last {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.Store.QueueDaemonGone(ctx, stale.Milliseconds(), id); err != nil {
		s.Log.Warn("cannot mark a provisioner as gone; it will look so after a while", "daemon", id, "error", err)
	}
}

// heartbeat marks connected daemons as seen, and forgets those not seen for a week.
func (s *Service) heartbeat(ctx context.Context) {
	t := time.NewTicker(beat)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		s.mu.Lock()
		ids := slices.Collect(maps.Keys(s.connected))
		s.mu.Unlock()
		err := s.Store.QueueDaemonsSeen(ctx, ids)
		if err == nil {
			err = s.Store.QueueForgetDaemons(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot mark provisioners as seen, trying again soon", "error", err)
		}
	}
}

// KeyDaemons groups the daemons that are there by the key they came with, and
// gives a page of that: the reserved keys that have daemons, and then every
// key of those that keys gives page by page.
func (s *Service) KeyDaemons(ctx context.Context, actor access.Subject, organizationID uuid.UUID, page coder.Page,
	keys func(coder.Page) ([]coder.ProvisionerKey, error),
) ([]coder.ProvisionerKeyDaemons, error) {
	daemons, err := s.Daemons(ctx, actor, organizationID, DaemonFilter{Statuses: []coder.ProvisionerDaemonStatus{coder.ProvisionerDaemonStatusIdle, coder.ProvisionerDaemonStatusBusy}})
	if err != nil {
		return nil, err
	}
	by := map[uuid.UUID][]coder.ProvisionerDaemon{}
	for _, d := range daemons {
		by[d.KeyID] = append(by[d.KeyID], d)
	}
	out := []coder.ProvisionerKeyDaemons{}
	for _, name := range []string{coder.ProvisionerKeyBuiltIn, coder.ProvisionerKeyUserAuth, coder.ProvisionerKeyPSK} {
		id := coder.ReservedProvisionerKey(name)
		if len(by[id]) > 0 {
			k := coder.ProvisionerKey{ID: id, Name: name, Organization: organizationID.String(), Tags: coder.ProvisionerKeyTags{}}
			out = append(out, coder.ProvisionerKeyDaemons{Key: k, Daemons: by[id]})
		}
	}
	reserved := len(out)
	out = out[min(page.Offset, reserved):]
	out = out[:min(page.Limit, len(out))]
	rest := coder.Page{Limit: page.Limit - len(out), Offset: max(0, page.Offset-reserved)}
	if rest.Limit == 0 {
		return out, nil
	}
	listed, err := keys(rest)
	if err != nil {
		return nil, err
	}
	for _, k := range listed {
		list := by[k.ID]
		if list == nil {
			list = []coder.ProvisionerDaemon{}
		}
		out = append(out, coder.ProvisionerKeyDaemons{Key: k, Daemons: list})
	}
	return out, nil
}
