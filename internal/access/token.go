package access

import "github.com/seed-2a7f8fe7/coder"

// TokenPermits says whether the scopes and the allow list of the token in use
// leave the action on the object open, whatever roles say. It is for rules
// beyond roles, such as apps that are shared with everybody.
func (s Subject) TokenPermits(action coder.RBACAction, o Object) bool {
	return s.scopesPermit(action, o) && s.listPermits(o.Type, o.ID, action, o)
}
