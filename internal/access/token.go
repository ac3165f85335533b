package access

import "github.com/seed-2a7f8fe7/coder/codersdk"

// TokenPermits reports whether the scopes and the allow list of the current token permit the action on the
// object, whatever the roles. It is for rules beyond roles, such as apps that are shared with all users.
func (s Subject) TokenPermits(action codersdk.RBACAction, o Object) bool {
	return s.scopesPermit(action, o) && s.listPermits(o.Type, o.ID, action, o)
}
