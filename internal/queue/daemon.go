package queue

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// stale is the age of the last heartbeat after which a daemon counts as offline; beat is
// the interval of the heartbeats. (PRV-14)
const (
	stale = 90 * time.Second
	beat  = 30 * time.Second
)

// Daemon describes a provisioner that connects.
type Daemon struct {
	OrganizationID uuid.UUID
	KeyID          uuid.UUID // of a key, or one of the reserved IDs
	Name           string
	Tags           codersdk.Tags // normalized
	Provisioners   []string
	Version        string   // version of the program
	APIVersion     string   // version of the protocol
	Slots          int      // concurrent jobs, each over its own connection; 0 means 1
	Tools          []string // tools and versions, such as terraform/1.11.4
	// Shared is equal in the rows of one daemon that serves several organizations; Nil
	// for a daemon that serves one.
	Shared uuid.UUID
}

// Hello records a connected daemon and returns the ID of its row. A daemon with the same
// name keeps its row. The caller calls gone when the connection ends. (PRV-13)
func (s *Service) Hello(ctx context.Context, d Daemon) (id uuid.UUID, gone func(), err error) {
	p := sqlc.QueueDaemonHelloParams{
		ID: uuid.New(), OrganizationID: d.OrganizationID, KeyID: d.KeyID, Name: clean(d.Name, 200),
		Owner: d.Tags[codersdk.TagOwner], Provisioners: d.Provisioners, Tags: d.Tags,
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

// goodbye marks a daemon as offline when its last connection to this server ends.
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
		s.Log.Warn("cannot mark a provisioner as offline; its heartbeat will expire", "daemon", id, "error", err)
	}
}

// heartbeat updates connected daemons and deletes daemons not seen for a week.
func (s *Service) heartbeat(ctx context.Context) {
	lifecycle.Every(ctx, beat, func(ctx context.Context) {
		s.mu.Lock()
		ids := slices.Collect(maps.Keys(s.connected))
		s.mu.Unlock()
		err := s.Store.QueueDaemonsSeen(ctx, ids)
		if err == nil {
			err = s.Store.QueueForgetDaemons(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot update the heartbeats of provisioners; retrying", "error", err)
		}
	})
}

// KeyDaemons returns a page of the connected daemons grouped by key: first the reserved
// keys that have daemons, and then every key that the function keys returns page by
// page.
func (s *Service) KeyDaemons(ctx context.Context, actor access.Subject, organizationID uuid.UUID, page codersdk.Page,
	keys func(codersdk.Page) ([]codersdk.ProvisionerKey, error),
) ([]codersdk.ProvisionerKeyDaemons, error) {
	daemons, err := s.Daemons(
		ctx,
		actor,
		organizationID,
		DaemonFilter{Statuses: []codersdk.ProvisionerDaemonStatus{codersdk.ProvisionerDaemonStatusIdle, codersdk.ProvisionerDaemonStatusBusy}},
	)
	if err != nil {
		return nil, err
	}
	by := map[uuid.UUID][]codersdk.ProvisionerDaemon{}
	for _, d := range daemons {
		by[d.KeyID] = append(by[d.KeyID], d)
	}
	out := []codersdk.ProvisionerKeyDaemons{}
	for _, name := range []string{codersdk.ProvisionerKeyBuiltIn, codersdk.ProvisionerKeyUserAuth, codersdk.ProvisionerKeyPSK} {
		id := codersdk.ReservedProvisionerKey(name)
		if len(by[id]) > 0 {
			k := codersdk.ProvisionerKey{ID: id, Name: name, Organization: organizationID.String(), Tags: codersdk.ProvisionerKeyTags{}}
			out = append(out, codersdk.ProvisionerKeyDaemons{Key: k, Daemons: by[id]})
		}
	}
	reserved := len(out)
	out = out[min(page.Offset, reserved):]
	out = out[:min(page.Limit, len(out))]
	rest := codersdk.Page{Limit: page.Limit - len(out), Offset: max(0, page.Offset-reserved)}
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
			list = []codersdk.ProvisionerDaemon{}
		}
		out = append(out, codersdk.ProvisionerKeyDaemons{Key: k, Daemons: list})
	}
	return out, nil
}
