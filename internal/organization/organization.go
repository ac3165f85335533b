// Package organization manages groups, custom roles, access lists of templates and workspaces,
// and quotas of an organization. Package access decides what these permit; this package
// changes them and writes an audit row for each change in the same transaction.
//
// Nobody can gain permissions through these changes: a role can contain only permissions that
// its creator holds, and can be granted only by users who hold them. The group of all members
// always exists. Its ID is that of the organization.
package organization

import (
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub      // is notified when rights change; nil notifies nobody
	Now   func() time.Time // nil: time.Now
}

// Service implements groups, roles, quotas and sharing. It is safe for concurrent use.
type Service struct{ c Config }

// New returns a Service. It starts nothing.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c}
}

// now returns the time at the precision of the database.
func (s *Service) now() time.Time { return s.c.Now().UTC().Truncate(time.Microsecond) }

// changedRights causes a check of the users' open connections.
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

// changedAllRights causes a check of all open connections.
func (s *Service) changedAllRights() {
	if s.c.Hub != nil {
		s.c.Hub.Publish(notify.AllRights())
	}
}

// changedWorkspaces notifies watchers of workspaces.
func (s *Service) changedWorkspaces(ids []uuid.UUID) {
	if s.c.Hub == nil {
		return
	}
	for _, id := range ids {
		s.c.Hub.Publish(notify.Workspace(id))
	}
}

// groupObject is the access object of a group.
func groupObject(organization, group uuid.UUID) access.Object {
	return access.Object{Type: codersdk.RBACResourceGroup, ID: group, OrganizationID: organization}
}
