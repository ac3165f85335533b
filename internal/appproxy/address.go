package appproxy

import (
	"net/http"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// address is the first step: the app that the host and path of a request name.
type address struct {
	method workspaceapp.Method
	name   workspaceapp.Name
	host   string // host name, without port, that sessions are for
	base   string // of a path app: the escaped path up to the slug
	rest   string // the escaped path as the app sees it
}

// parseAddress reads the address of a request. isApp is false for requests that
// are not for an app; with isApp, an error means that the address is invalid.
func (p *Proxy) parseAddress(r *http.Request) (addr address, isApp bool, err error) {
	own := workspaceapp.HostName(p.c.AccessURL.Host)
	if host := workspaceapp.HostName(r.Host); host != own {
		if name, under, err := p.c.Hosts.Parse(r.Host); under {
			return address{method: workspaceapp.MethodSubdomain, name: name, host: host, rest: r.URL.EscapedPath()}, true, err
		}
	}
	if !strings.HasPrefix(r.URL.Path, "/@") {
		return address{}, false, nil
	}
	n, ok := workspaceapp.ParsePath(r.URL.EscapedPath())
	if !ok {
		return address{}, false, nil
	}
	addr = address{method: workspaceapp.MethodPath, name: n.Name, host: own, base: n.Base, rest: n.Rest}
	if p.c.NoPaths {
		return addr, true, codersdk.Errorf(codersdk.CodeNotFound, "Path apps are disabled on this server").
			WithDetail("the server runs with --disable-path-apps; set subdomain = true for the app in its template")
	}
	return addr, true, nil
}
