package workspaceapp

import "net/url"

// Site is where a workspace proxy serves apps. Sessions of apps may be created
// for the hosts of a site only.
type Site struct {
	accessURL *url.URL
	hosts     Hosts
}

// ParseSite returns the site of a proxy with this access URL and wildcard host
// name, which may be empty. ok is false if the proxy has no valid access URL.
func ParseSite(accessURL, wildcard string) (site Site, ok bool) {
	parsed, err := url.Parse(accessURL)
	if err != nil || accessURL == "" {
		return Site{}, false
	}
	hosts, err := ParseHosts(wildcard, parsed)
	return Site{accessURL: parsed, hosts: hosts}, err == nil
}

// Host returns the host of the access URL, with its port.
func (s Site) Host() string { return s.accessURL.Host }

// HasHost reports whether host, without port, is the site's own or an app's.
func (s Site) HasHost(host string) bool {
	_, under := s.hosts.Under(host)
	return under || host == HostName(s.accessURL.Host)
}

// Serves reports whether u is the address of an app on the site.
func (s Site) Serves(u *url.URL) bool {
	if u.Scheme != s.accessURL.Scheme || u.Port() != s.accessURL.Port() {
		return false
	}
	if HostName(u.Host) == HostName(s.accessURL.Host) {
		_, ok := ParsePath(u.EscapedPath())
		return ok
	}
	_, under, err := s.hosts.Parse(u.Host)
	return under && err == nil
}
