package codersdk

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// License is an uploaded license. No feature depends on it.
type License struct {
	ID         int32     `json:"id"`
	UUID       uuid.UUID `json:"uuid"`
	UploadedAt time.Time `json:"uploaded_at"`
	// Claims is a JSON object: the claims of a license that is a JWT. It always has
	// license_expires, in Unix seconds.
	Claims json.RawMessage `json:"claims"`
}

// AddLicenseRequest uploads a license.
type AddLicenseRequest struct {
	License string `json:"license"`
}
