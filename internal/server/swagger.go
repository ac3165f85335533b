package server

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/swaggest/swgui/v5/static"

	"github.com/seed-2a7f8fe7/coder/api"
)

// swaggerPage shows the documentation of the API. All that it loads is served by
// this server, and its script is a file, as the Content-Security-Policy wants.
const swaggerPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API</title>
<link rel="stylesheet" href="/swagger/swagger-ui.css">
<div id="swagger-ui"></div>
<noscript>The documentation needs JavaScript. The description of the API is <a href="/swagger/doc.json">doc.json</a>.</noscript>
<script src="/swagger/swagger-ui-bundle.js"></script>
<script src="/swagger/init.js"></script>
`

const swaggerScript = `SwaggerUIBundle({ url: "/swagger/doc.json", dom_id: "#swagger-ui", deepLinking: true, validatorUrl: null, queryConfigEnabled: false });
`

// swagger serves the documentation of the API below /swagger/, or says how to turn
// it on.
func (s *Server) swagger() (http.Handler, error) {
	if !s.c.Pages.Swagger {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "The documentation of the API is turned off; an administrator can start the server with --swagger-enable", http.StatusNotFound)
		}), nil
	}
	files := map[string][]byte{"index.html": []byte(swaggerPage), "init.js": []byte(swaggerScript), "doc.json": api.OpenAPI}
	for _, name := range []string{"swagger-ui.css", "swagger-ui-bundle.js"} {
		packed, err := fs.ReadFile(static.FS, name+".gz")
		if err != nil {
			return nil, fmt.Errorf("open the documentation of the API: %w", err)
		}
		files[name+".gz"] = packed
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/swagger")
		switch name {
		case "":
			http.Redirect(w, r, "/swagger/", http.StatusTemporaryRedirect)
			return
		case "/":
			name = "/index.html"
		}
		serveSwagger(w, r, files, name[1:])
	}), nil
}

// serveSwagger answers with a file, packed where the client can unpack it.
func serveSwagger(w http.ResponseWriter, r *http.Request, files map[string][]byte, name string) {
	content, packed := files[name], files[name+".gz"]
	if content == nil && packed == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Cache-Control", "no-cache")
	switch {
	case packed == nil:
	case strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"):
		h.Set("Content-Encoding", "gzip")
		h.Set("Vary", "Accept-Encoding")
		content = packed
	default:
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err == nil {
			content, err = io.ReadAll(z)
		}
		if err != nil {
			http.Error(w, "the file is damaged", http.StatusInternalServerError)
			return
		}
	}
	w.Write(content) //nolint:errcheck // the client went away
}
