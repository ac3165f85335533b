package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// moduleVersions returns the versions of a module.
func (c *Client) moduleVersions(ctx context.Context, p providermirror.Address) ([]Version, error) {
	at, err := c.address(ctx, p, "versions")
	if err != nil {
		return nil, err
	}
	var list providermirror.ModuleVersions
	if err := c.document(ctx, at, &list); err != nil {
		return nil, fmt.Errorf("list the versions of %s: %w", p, err)
	}
	var out []Version
	for _, m := range list.Modules {
		for _, v := range m.Versions {
			if providermirror.CheckVersion(v.Version) == nil {
				out = append(out, Version{Version: v.Version})
			}
		}
	}
	return out, nil
}

// moduleSource returns the source of a version of a module in the form of Terraform, such as
// git::https://github.com/acme/terraform-aws-vpc?ref=v1.0.0.
func (c *Client) moduleSource(ctx context.Context, t providermirror.Target) (string, error) {
	at, err := c.address(ctx, t.Address, t.Version, "download")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	resp, err := c.get(ctx, at)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", t, err)
	}
	defer resp.Body.Close()
	location := resp.Header.Get(providermirror.LocationHeader)
	if location == "" {
		var body providermirror.ModuleLocation
		json.NewDecoder(io.LimitReader(resp.Body, maxDocument)).Decode(&body) //nolint:errcheck // a body without a location is refused below
		location = body.Location
	}
	if location == "" {
		return "", fmt.Errorf("the answer of %s about %s has no location", t.Hostname, t)
	}
	for _, prefix := range []string{"/", "./", "../"} {
		if strings.HasPrefix(location, prefix) {
			u, err := secure(at, location)
			if err != nil {
				return "", err
			}
			return u.String(), nil
		}
	}
	return location, nil
}

// ModuleError is the error of a module whose source the registry names, but which cannot be downloaded from there.
type ModuleError struct {
	Source string // in the form of Terraform; it may contain credentials
	err    error  // without the source
}

func (e *ModuleError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *ModuleError) Unwrap() error { return e.err }

// downloadModule writes the files of a module to w as a zip, which is the same for the same files. Its error is a
// *ModuleError if the source of the module is known.
func (c *Client) downloadModule(ctx context.Context, t providermirror.Target, w io.Writer) (Archive, error) {
	source, err := c.moduleSource(ctx, t)
	if err != nil {
		return Archive{}, err
	}
	out, err := c.packModule(ctx, t, source, w)
	if err != nil {
		return Archive{}, &ModuleError{source, err}
	}
	return out, nil
}

// packModule writes the files of a module to w.
func (c *Client) packModule(ctx context.Context, t providermirror.Target, source string, w io.Writer) (Archive, error) {
	from, ok := parseSource(source)
	if !ok {
		return Archive{}, codersdk.Errorf(codersdk.CodePrecondition,
			"The mirror cannot fetch %s: its source is neither an archive at an HTTPS address nor a repository on GitHub", t)
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	resp, err := c.get(ctx, from.at)
	if err != nil {
		return Archive{}, fmt.Errorf("download %s: %w", t, err)
	}
	defer resp.Body.Close()
	files, err := from.unpack(resp.Body)
	if err != nil {
		return Archive{}, codersdk.Errorf(codersdk.CodePrecondition, "%s is refused: %s", t, err)
	}
	data, err := files.pack()
	if err != nil {
		return Archive{}, err
	}
	if _, err := io.Copy(w, bytes.NewReader(data)); err != nil {
		return Archive{}, err
	}
	sum := sha256.Sum256(data)
	return Archive{Size: int64(len(data)), SHA256: sum[:]}, nil
}

// source is an archive with a module.
type source struct {
	at     *url.URL
	zipped bool   // the archive is a zip, not a gzipped tar
	dir    string // of the module in the archive; a part can be *, for the only directory that fits
}

// parseSource reads the source of a module. It reports false for sources that are no archives at HTTPS addresses
// and no repositories on GitHub, which offers an archive of each reference.
func parseSource(text string) (source, bool) {
	rest, isGit := strings.CutPrefix(text, "git::")
	if strings.HasPrefix(rest, "github.com/") {
		rest, isGit = "https://"+rest, true
	}
	dir, rest := cutDir(rest)
	u, err := url.Parse(rest)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return source{}, false
	}
	q := u.Query()
	if isGit {
		return githubArchive(u, dir, q.Get("ref"))
	}
	kind := q.Get("archive")
	for name, k := range map[string]string{".zip": "zip", ".tar.gz": "tar.gz", ".tgz": "tar.gz"} {
		if kind == "" && strings.HasSuffix(u.Path, name) {
			kind = k
		}
	}
	switch {
	case q.Has("checksum"), kind != "zip" && kind != "tar.gz" && kind != "tgz":
		return source{}, false
	}
	q.Del("archive")
	u.RawQuery = q.Encode()
	return source{at: u, zipped: kind == "zip", dir: dir}, true
}

// cutDir returns the directory behind // of a source, and the source without it.
func cutDir(text string) (dir, rest string) {
	address, query, _ := strings.Cut(text, "?")
	scheme := strings.Index(address, "://") + len("://")
	if i := strings.Index(address[min(scheme, len(address)):], "//"); i >= 0 {
		dir, address = address[scheme+i+2:], address[:scheme+i]
	}
	if query != "" {
		address += "?" + query
	}
	return strings.Trim(path.Clean("/"+dir), "/"), address
}

// githubArchive returns the archive of a reference of a repository. All its files are below one directory.
func githubArchive(u *url.URL, dir, ref string) (source, bool) {
	parts := strings.Split(strings.Trim(strings.TrimSuffix(u.Path, ".git"), "/"), "/")
	if u.Host != "github.com" || len(parts) != 2 || strings.Contains(ref, "..") { // no reference has two dots
		return source{}, false
	}
	if ref == "" {
		ref = "HEAD"
	}
	at := &url.URL{Scheme: "https", Host: u.Host, Path: "/" + path.Join(parts[0], parts[1], "archive", ref) + ".tar.gz"}
	return source{at: at, dir: path.Join("*", dir)}, true
}
