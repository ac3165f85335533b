package codersdk

import "time"

// IfUnchanged makes a request conditional, so that two users who change the same
// object at the same time do not overwrite each other.
type IfUnchanged struct {
	// IfUpdatedAt is the updated_at of the object as the client read it. If the object
	// changed since, the response is 412 and nothing is saved. Without it the request
	// is unconditional.
	IfUpdatedAt *time.Time `json:"if_updated_at,omitempty"`
}

// Check returns a CodePrecondition error if an object such as "group", last changed
// at updatedAt, is not the version that the request expects.
func (c IfUnchanged) Check(something string, updatedAt time.Time) error {
	if c.IfUpdatedAt == nil || c.IfUpdatedAt.Equal(updatedAt) {
		return nil
	}
	return Errorf(CodePrecondition, "The %s was changed after you opened it, so nothing was saved. Reload it and make the change again.",
		something)
}
