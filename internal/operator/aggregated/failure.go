package aggregated

import (
	"context"
	"errors"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seed-2a7f8fe7/coder"
)

// retrySeconds is after how long a client asks again that asked too often.
const retrySeconds = 5

// kindOf is what errors call a resource.
type kindOf struct {
	schema.GroupResource
	kind string
}

// refuse gives the status that a failure is to whoever asked for an object. What
// the control plane explained is passed on; what it was not asked for by the
// user, such as that the operator's token is refused, is no fault of theirs.
func (k kindOf) refuse(name string, err error) error {
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) {
		return err
	}
	var e *coder.Error
	if !errors.As(err, &e) {
		return unreached(err)
	}
	said := &coder.Error{Code: e.Code, Message: e.Message, Detail: e.Detail, Fields: e.Fields} // without the cause
	switch e.Code {
	case coder.CodeNotFound:
		out := apierrors.NewNotFound(k.GroupResource, name)
		out.ErrStatus.Message += ": " + said.Error()
		return out
	case coder.CodeConflict, coder.CodePrecondition:
		return apierrors.NewConflict(k.GroupResource, name, said)
	case coder.CodeInvalid, coder.CodeTooLarge:
		var all field.ErrorList
		for _, f := range e.Fields {
			all = append(all, &field.Error{Type: field.ErrorTypeInvalid, Field: f.Field, Detail: f.Detail, BadValue: field.OmitValueType{}})
		}
		if len(all) == 0 {
			return apierrors.NewBadRequest(said.Error())
		}
		return apierrors.NewInvalid(schema.GroupKind{Group: k.Group, Kind: k.kind}, name, all)
	case coder.CodeRateLimited:
		return apierrors.NewTooManyRequests(err.Error(), retrySeconds)
	case coder.CodeUnauthenticated:
		return unavailable("the control plane does not take the operator's token; see the condition OperatorAccessReady of the CoderControlPlane: " + said.Error())
	case coder.CodeForbidden:
		return apierrors.NewForbidden(k.GroupResource, name, said)
	case coder.CodeUnavailable:
		return unavailable(said.Error())
	}
	return apierrors.NewInternalError(said)
}

// unreached is what a failure of the network is to whoever asked.
func unreached(err error) error {
	var network net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() {
		return apierrors.NewTimeoutError("the control plane did not answer in time: "+err.Error(), 0)
	}
	return unavailable("the control plane cannot be reached: " + err.Error())
}

// unavailable names no time to ask again after: clients would wait for it, ten
// times, before they show a person the message.
func unavailable(message string) error {
	out := apierrors.NewServiceUnavailable(message)
	out.ErrStatus.Code = http.StatusServiceUnavailable
	return out
}
