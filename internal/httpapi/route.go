package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
)

// Route is one line of the route table: what is served, what it needs, and
// who answers. The table is the source of the mux, of the route x role matrix,
// and of openapi.json.
type Route struct {
	Method, Path string // path below /api/v2, in http.ServeMux form
	Summary      string
	Auth         Auth
	// Action and Resource are what the use case behind the route asks of
	// access, for the matrix; the use case itself enforces them on the object.
	Action   coder.RBACAction
	Resource coder.RBACResource
	// In and Out are zero values of the body types, nil for none.
	In, Out any
	Status  int   // of success; 0 means 200
	MaxBody int64 // bytes of the request's body; 0 means 1 MiB, 64 KiB for AuthPublic
	Handler HandlerFunc
}

// Auth is whose token a route wants.
type Auth int

// The kinds of Auth.
const (
	AuthUser   Auth = iota // a user's session or API token
	AuthPublic             // nobody's
	AuthAgent              // an agent's token
	AuthSelf               // the handler looks itself (provisioner serve)
)

// HandlerFunc answers a request or returns why not. It writes nothing when it
// returns an error.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error
