package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// parameterRoutes serve the parameter form of a workspace. (TPL-10, TPL-12)
func (a *API) parameterRoutes() []rest.Route {
	if a.Templates == nil || a.Workspaces == nil {
		return nil
	}
	const read, tpl = codersdk.RBACActionRead, codersdk.RBACResourceTemplate
	return []rest.Route{
		{Method: "GET", Path: "/templateversions/{templateversion}/dynamic-parameters",
			Summary: "Fill in a version's parameter form over a WebSocket",
			Action:  read, Resource: tpl, Status: 101, Handler: a.getDynamicParameters},
		{Method: "POST", Path: "/templateversions/{templateversion}/dynamic-parameters/evaluate",
			Summary: "Evaluate a version's parameter form",
			Action:  read, Resource: tpl, In: codersdk.DynamicParametersRequest{}, Out: codersdk.DynamicParametersResponse{},
			Handler: a.postDynamicParameters},
		{Method: "GET", Path: "/users/{user}/autofill-parameters", Summary: "List a user's previous values of a template's parameters",
			Action: codersdk.RBACActionReadPersonal, Resource: codersdk.RBACResourceUser, Out: []codersdk.UserParameter{},
			Handler: a.getAutofill},
	}
}

func (a *API) postDynamicParameters(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "templateversion")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.DynamicParametersRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Templates.PreviewParameters(r.Context(), rest.Actor(r), id, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

// firstForm is the id of the form that the server sends before any request.
const firstForm = -1

// getDynamicParameters sends the form with default values, then one form for
// each request of the client.
func (a *API) getDynamicParameters(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "templateversion")
	if err != nil {
		return err
	}
	owner, err := rest.QueryID(r, "user_id")
	if err != nil {
		return err
	}
	req := codersdk.DynamicParametersRequest{ID: firstForm, OwnerID: owner}
	out, err := a.Templates.PreviewParameters(r.Context(), rest.Actor(r), id, req)
	if err != nil {
		return err
	}
	conn, err := rest.AcceptWebSocket(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	conn.SetReadLimit(256 << 10)
	ctx := r.Context()
	for {
		b, err := json.Marshal(out)
		if err != nil {
			return err
		}
		if conn.Write(ctx, websocket.MessageText, b) != nil {
			return nil
		}
		_, message, err := conn.Read(ctx)
		if err != nil {
			return nil //nolint:nilerr // the client has left
		}
		req = codersdk.DynamicParametersRequest{}
		if json.Unmarshal(message, &req) != nil {
			conn.Close(websocket.StatusPolicyViolation, `send {"id": 1, "inputs": {"name": "value"}}`) //nolint:errcheck // the client may be gone
			return nil
		}
		if out, err = a.Templates.PreviewParameters(ctx, rest.Actor(r), id, req); err != nil {
			if out, err = a.refusedForm(ctx, req.ID, err); err != nil {
				conn.Close(websocket.StatusPolicyViolation, rest.Truncate(err.Error(), 120)) //nolint:errcheck // the client may be gone
				return nil
			}
		}
	}
}

// refusedForm returns a form whose diagnostics explain why the request is
// invalid. Internal errors, and errors such as a deleted version, are returned
// instead and close the connection.
func (a *API) refusedForm(ctx context.Context, id int, err error) (codersdk.DynamicParametersResponse, error) {
	out := codersdk.DynamicParametersResponse{ID: id, Parameters: []codersdk.PreviewParameter{}, Diagnostics: []codersdk.FriendlyDiagnostic{}}
	e, ok := errors.AsType[*codersdk.Error](err)
	switch {
	case !ok || e.Code == codersdk.CodeInternal:
		a.Log.ErrorContext(ctx, "evaluate parameter form", "error", err)
		return out, errors.New("internal server error; the server's log has the cause")
	case e.Code != codersdk.CodeInvalid:
		return out, err
	}
	out.Diagnostics = append(out.Diagnostics, codersdk.FriendlyDiagnostic{Severity: codersdk.DiagnosticSeverityError, Summary: e.Message, Detail: e.Detail})
	return out, nil
}

func (a *API) getAutofill(w http.ResponseWriter, r *http.Request) error {
	u, err := a.pathUser(r)
	if err != nil {
		return err
	}
	id, err := rest.QueryID(r, "template_id")
	if err != nil {
		return err
	}
	if r.URL.Query().Get("template_id") == "" {
		return codersdk.Invalid("template_id", "is missing")
	}
	out, err := a.Workspaces.Autofill(r.Context(), rest.Actor(r), u, id)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}
