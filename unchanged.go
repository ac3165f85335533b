package coder

import "time"

// IfUnchanged is the part of a request by which two who change the same thing
// at once do not overwrite each other.
type IfUnchanged struct {
	// IfUpdatedAt is the updated_at of what is to be changed, as it was read
	// before. When it has been changed since, the answer is 412 and nothing
	// happens. Without it nothing is compared.
	IfUpdatedAt *time.Time `json:"if_updated_at,omitempty"`
}

// Check is CodePrecondition when something, such as "group", that was changed
// at updatedAt is not as the request expects it.
func (c IfUnchanged) Check(something string, updatedAt time.Time) error {
	if c.IfUpdatedAt == nil || c.IfUpdatedAt.Equal(updatedAt) {
		return nil
	}
	return Errorf(CodePrecondition, "The %s was changed by somebody else after it was opened here, so nothing was saved: reload it and make the change again", something)
}
