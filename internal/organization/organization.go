// Package organization knows how an organization arranges its people: groups,
// roles of its own making, who is named in the access lists of its templates
// and workspaces, and what its members may spend. What the arrangement permits
// is decided by access alone; here it is changed, with an audit row beside each
// change, in one transaction.
//
// Nobody gets more by arranging than they have: a role can be made of, and
// given with, such permissions only as whoever makes or gives it holds. The
// group of everyone in an organization always exists; it has the id of the
// organization, and its members are those of the organization.
package organization

import (
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Config is what a Service works with.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub      // hears whose rights changed; nil: nobody is told
	Now   func() time.Time // nil: time.Now
}

// Service is the use cases of groups, roles, quotas and sharing. It is safe
// for concurrent use.
type Service struct{ c Config }

// New makes the service. It starts nothing.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c}
}

// now is the clock at the precision that the database keeps.
func (s *Service) now() time.Time { return s.c.Now().UTC().Truncate(time.Microsecond) }

// changedRights tells open connections that these users may do other things now.
func (s *Service) changedRights(users []uuid.UUID) {
	if s.c.Hub == nil || len(users) == 0 {
		return
	}
	if len(users) > 100 {
		s.changedAllRights()
		return
	}
	topics := make([]string, len(users))
	for i, id := range users {
		topics[i] = notify.Rights(id)
	}
	s.c.Hub.Publish(topics...)
}

// changedAllRights is changedRights for anybody.
func (s *Service) changedAllRights() {
	if s.c.Hub != nil {
		s.c.Hub.Publish(notify.AllRights())
	}
}

// changedWorkspaces tells who watches workspaces to look again.
func (s *Service) changedWorkspaces(ids []uuid.UUID) {
	if s.c.Hub == nil {
		return
	}
	for _, id := range ids {
		s.c.Hub.Publish(notify.Workspace(id))
	}
}

// groupObject is a group as access sees it.
func groupObject(organization, group uuid.UUID) access.Object {
	return access.Object{Type: coder.RBACResourceGroup, ID: group, OrganizationID: organization}
}
