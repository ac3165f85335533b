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
	// About says what the summary does not; Query are what follows the path.
	About string
	Query []Param
	// In and Out are zero values of the body types, nil for none.
	In, Out any
	Status  int   // of success; 0 means 200
	MaxBody int64 // bytes of the request's body; 0 means 1 MiB, 64 KiB for AuthPublic
	Handler HandlerFunc
}

// Param is a parameter that follows the path.
type Param struct{ Name, Type, About string } // a type of JSON: string, integer, boolean

// paged are the parameters of a list that is given page by page, beside more.
func paged(more ...Param) []Param {
	return append([]Param{
		{"limit", "integer", "How many at most, up to 1000. Without it, as many as the list gives at once: 1000 where nothing else is said. A page that is full may have one behind it."},
		{"offset", "integer", "How many to leave out, of those before the page."},
	}, more...)
}

// searched is the search of a list.
func searched(about string) Param { return Param{"q", "string", about} }

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
