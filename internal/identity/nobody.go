package identity

import (
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// nobodys rejects the account that owns prebuilt workspaces: nobody signs in to it,
// and only the server changes it. (WS-20)
func nobodys(u sqlc.User) error {
	if u.ID == codersdk.PrebuildsUserID() {
		return codersdk.Errorf(codersdk.CodeForbidden, "The account %s is reserved for prebuilt workspaces; it cannot sign in or be changed", u.Username)
	}
	return nil
}

// protect rejects changes to accounts that the actor cannot touch, whatever the
// actor's rights on users.
func protect(actor access.Subject, u sqlc.User) error {
	if err := nobodys(u); err != nil {
		return err
	}
	return protectOwner(actor, u)
}
