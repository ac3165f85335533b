package aggregated

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/google/uuid"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/seed-2a7f8fe7/coder"
	coderclient "github.com/seed-2a7f8fe7/coder/client"
)

// How long an import may take, and how often it is looked at. (OP-22)
const (
	importTimeout = 25 * time.Minute
	firstLook     = 2 * time.Second
	lastLook      = 10 * time.Second
)

// imports makes versions of files. An import goes on when whoever asked for it is
// gone, as API servers give up after a minute; who asks for the same again
// meanwhile waits for it.
type imports struct {
	mu      sync.Mutex
	running map[string]*running
}

type running struct {
	done chan struct{}
	err  error
}

// errImporting says that an import takes longer than the request may.
var errImporting = coder.Errorf(coder.CodeUnavailable, "the files are still being imported, which goes on: look at the template again, or apply the same again to wait for it")

// run runs work unless what has the same key runs already, and waits for it.
func (i *imports) run(ctx context.Context, key string, work func(context.Context) error) error {
	i.mu.Lock()
	r := i.running[key]
	if r == nil {
		r = &running{done: make(chan struct{})}
		i.running[key] = r
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), importTimeout)
			defer cancel()
			r.err = work(ctx)
			i.mu.Lock()
			delete(i.running, key)
			i.mu.Unlock()
			close(r.done)
		}()
	}
	i.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return errImporting
	}
}

func importKey(namespace, name string, archive []byte) string {
	sum := sha256.Sum256(archive)
	return namespace + "/" + name + "/" + hex.EncodeToString(sum[:])
}

// upload uploads an archive and has it imported as a version, of a template if it
// is of one. It gives the version when the import has succeeded.
func upload(ctx context.Context, at *site, organization string, template uuid.UUID, engine string, archive []byte) (uuid.UUID, error) {
	who := "somebody"
	if u, ok := genericapirequest.UserFrom(ctx); ok {
		who = u.GetName()
	}
	var v coder.TemplateVersion
	err := at.ask(ctx, func(ctx context.Context, c *coderclient.Client) error {
		up, err := c.Upload(ctx, "application/x-tar", bytes.NewReader(archive))
		if err != nil {
			return err
		}
		id, err := uuid.Parse(up.Hash)
		if err != nil {
			return err
		}
		v, err = c.CreateTemplateVersion(ctx, organization, coder.CreateTemplateVersionRequest{
			FileID: id, TemplateID: template, Provisioner: engine, StorageMethod: coder.ProvisionerStorageMethodFile, Message: "Made through Kubernetes by " + who,
		})
		return err
	})
	look := firstLook
	for err == nil {
		switch v.Job.Status {
		case coder.ProvisionerJobStatusSucceeded:
			return v.ID, nil
		case coder.ProvisionerJobStatusFailed:
			return v.ID, coder.Invalid("spec.files", "the import failed: %s", v.Job.Error)
		case coder.ProvisionerJobStatusCanceled:
			return v.ID, coder.Errorf(coder.CodeConflict, "the import was canceled")
		}
		select {
		case <-ctx.Done():
			return v.ID, ctx.Err()
		case <-time.After(look):
		}
		look = min(look*3/2, lastLook)
		err = at.ask(ctx, func(ctx context.Context, c *coderclient.Client) (err error) {
			v, err = c.TemplateVersion(ctx, v.ID)
			return err
		})
	}
	return v.ID, err
}
