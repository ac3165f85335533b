package rest

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Route is one line of the route table. The table is the source of the mux, of
// the matrix of routes and roles, and of openapi.json.
type Route struct {
	Method, Path string // path below /api/v2, in http.ServeMux form
	Summary      string
	Auth         Auth
	// Action and Resource are the permission that the use case checks, for the
	// matrix of routes and roles. The route itself does not check it.
	Action   codersdk.RBACAction
	Resource codersdk.RBACResource
	// About adds details to the summary; Query lists the query parameters.
	About string
	Query []Param
	// In and Out are zero values of the body types; nil for no body.
	In, Out any
	Status  int   // on success; 0 means 200
	MaxBody int64 // maximum bytes of the request body; 0 means 1 MiB, or 64 KiB for AuthPublic
	Handler HandlerFunc
}

// Param is a query parameter.
type Param struct {
	Name  string
	Type  string // JSON type: string, integer or boolean
	About string
}

// Paged returns the parameters of a Paged list, followed by more.
func Paged(more ...Param) []Param {
	return append([]Param{
		{"limit", "integer", "Maximum number of items, at most 1000. Without it, the default of the list: 1000 unless stated otherwise. " +
			"A full page may be followed by another."},
		{Name: "offset", Type: "integer", About: "Number of items to skip."},
	}, more...)
}

// Searched returns the parameter q of a list.
func Searched(about string) Param { return Param{Name: "q", Type: "string", About: about} }

// Auth is the kind of token that a route requires.
type Auth int

// The kinds of Auth.
const (
	AuthUser   Auth = iota // a user's session or API token
	AuthPublic             // no token
	AuthAgent              // an agent's token
	AuthSelf               // the handler authenticates the request itself
)

// HandlerFunc serves a request or returns an error. It writes nothing when it
// returns an error.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error
