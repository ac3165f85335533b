package identity

import (
	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// nobodys refuses the account that prebuilt workspaces belong to: it is no
// person, nobody signs in as it, and the server alone changes it. (WS-20)
func nobodys(u sqlc.User) error {
	if u.ID == coder.PrebuildsUserID() {
		return coder.Errorf(coder.CodeForbidden, "The account %s is the server's own, for prebuilt workspaces: nobody signs in as it or changes it", u.Username)
	}
	return nil
}

// protect refuses to change accounts that the actor may not touch, whatever
// their rights on users.
func protect(actor access.Subject, u sqlc.User) error {
	if err := nobodys(u); err != nil {
		return err
	}
	return protectOwner(actor, u)
}
