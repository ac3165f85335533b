package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// UserSecret is a value that a user keeps, and that the user's workspaces get. The
// value itself is never returned.
type UserSecret struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	// EnvName is the environment variable with the value, "" for none.
	EnvName string `json:"env_name"`
	// FilePath is the file with the value, "" for none. It begins with ~/ or /.
	FilePath  string    `json:"file_path"`
	Enabled   bool      `json:"enabled"` // workspaces get it
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// CreateUserSecretRequest creates a secret. An enabled secret needs a variable or a file.
type CreateUserSecretRequest struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
	EnvName     string `json:"env_name,omitempty"`
	FilePath    string `json:"file_path,omitempty"`
	Enabled     *bool  `json:"enabled,omitempty"` // default true
}

// UserSecretFormat is the format of a file with secrets.
type UserSecretFormat string

// Values of UserSecretFormat.
const (
	UserSecretFormatEnv  UserSecretFormat = "env"  // lines of NAME=value
	UserSecretFormatJSON UserSecretFormat = "json" // an object, by name
	UserSecretFormatYAML UserSecretFormat = "yaml" // a mapping, by name
)

// CreateUserSecretsRequest creates the secrets of a file: all of them, or none. A name
// with only a value becomes an environment variable of that name. In JSON and YAML, a
// name can have an object with the fields of CreateUserSecretRequest instead.
type CreateUserSecretsRequest struct {
	Content string           `json:"content"`
	Format  UserSecretFormat `json:"format"`
}

// UpdateUserSecretRequest changes fields of a secret; nil keeps a field. An empty
// EnvName or FilePath removes the variable or the file.
type UpdateUserSecretRequest struct {
	Value       *string `json:"value,omitempty"`
	Description *string `json:"description,omitempty"`
	EnvName     *string `json:"env_name,omitempty"`
	FilePath    *string `json:"file_path,omitempty"`
	Enabled     *bool   `json:"enabled,omitempty"`
}
