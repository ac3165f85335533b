package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder"
)

// parameterRoutes are about filling in the parameters of a workspace. (TPL-10, TPL-12)
func (a *API) parameterRoutes() []Route {
	if a.Templates == nil || a.Workspaces == nil {
		return nil
	}
	const read, tpl = coder.RBACActionRead, coder.RBACResourceTemplate
	return []Route{
		{Method: "GET", Path: "/templateversions/{templateversion}/dynamic-parameters", Summary: "The form of a version's parameters, live by WebSocket", Action: read, Resource: tpl, Status: 101, Handler: a.getDynamicParameters},
		{Method: "POST", Path: "/templateversions/{templateversion}/dynamic-parameters/evaluate", Summary: "The form of a version's parameters with some values filled in", Action: read, Resource: tpl, In: coder.DynamicParametersRequest{}, Out: coder.DynamicParametersResponse{}, Handler: a.postDynamicParameters},
		{Method: "GET", Path: "/users/{user}/autofill-parameters", Summary: "The values that a user gave last for a template's parameters", Action: coder.RBACActionReadPersonal, Resource: coder.RBACResourceUser, Out: []coder.UserParameter{}, Handler: a.getAutofill},
	}
}

func (a *API) postDynamicParameters(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "templateversion")
	if err != nil {
		return err
	}
	req, err := decode[coder.DynamicParametersRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Templates.PreviewParameters(r.Context(), a.actor(r), id, req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

// firstForm is the id of the answer that comes by itself when a form is opened.
const firstForm = -1

// getDynamicParameters sends the form with the defaults, and then, for each
// request, the form with what it has filled in.
func (a *API) getDynamicParameters(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "templateversion")
	if err != nil {
		return err
	}
	owner, err := queryID(r, "user_id")
	if err != nil {
		return err
	}
	req := coder.DynamicParametersRequest{ID: firstForm, OwnerID: owner}
	out, err := a.Templates.PreviewParameters(r.Context(), a.actor(r), id, req)
	if err != nil {
		return err
	}
	conn, err := accept(w, r)
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
		req = coder.DynamicParametersRequest{}
		if json.Unmarshal(message, &req) != nil {
			conn.Close(websocket.StatusPolicyViolation, `send {"id": 1, "inputs": {"name": "value"}}`) //nolint:errcheck // the client may be gone
			return nil
		}
		if out, err = a.Templates.PreviewParameters(ctx, a.actor(r), id, req); err != nil {
			if out, err = a.refusedForm(ctx, req.ID, err); err != nil {
				conn.Close(websocket.StatusPolicyViolation, clip(err.Error(), 120)) //nolint:errcheck // the client may be gone
				return nil
			}
		}
	}
}

// refusedForm tells within a form why there is none; an error that is ours, or
// that the version is there no more, ends the connection.
func (a *API) refusedForm(ctx context.Context, id int, err error) (coder.DynamicParametersResponse, error) {
	out := coder.DynamicParametersResponse{ID: id, Parameters: []coder.PreviewParameter{}, Diagnostics: []coder.FriendlyDiagnostic{}}
	e, ok := errors.AsType[*coder.Error](err)
	switch {
	case !ok || e.Code == coder.CodeInternal:
		a.Log.ErrorContext(ctx, "a form of parameters failed", "error", err)
		return out, errors.New("the server failed to do this; its log says why")
	case e.Code != coder.CodeInvalid:
		return out, err
	}
	out.Diagnostics = append(out.Diagnostics, coder.FriendlyDiagnostic{Severity: coder.DiagnosticSeverityError, Summary: e.Message, Detail: e.Detail})
	return out, nil
}

func (a *API) getAutofill(w http.ResponseWriter, r *http.Request) error {
	u, err := a.pathUser(r)
	if err != nil {
		return err
	}
	id, err := queryID(r, "template_id")
	if err != nil {
		return err
	}
	if r.URL.Query().Get("template_id") == "" {
		return coder.Invalid("template_id", "is missing")
	}
	out, err := a.Workspaces.Autofill(r.Context(), a.actor(r), u, id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}
