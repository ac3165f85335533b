package download

import (
	_ "embed"
	"fmt"
	"net/http"
	"strings"
)

//go:embed install.sh
var installScript string

// InstallScript returns the shell script that installs the command line of the
// server at accessURL, whose version is given.
func InstallScript(accessURL, version string) string {
	accessURL = strings.TrimRight(accessURL, "/")
	line := strings.NewReplacer("\n", " ", "\r", " ") // comments end with their line
	return strings.NewReplacer(
		"@URL@", line.Replace(accessURL), "@VERSION@", line.Replace(version),
		"@QUOTED_URL@", quote(accessURL), "@QUOTED_VERSION@", quote(version),
	).Replace(installScript)
}

// ServeInstallScript returns the handler of GET /install.sh. The script has the
// access URL, as a Host header is whatever its sender likes.
func ServeInstallScript(accessURL, version string) http.Handler {
	text := InstallScript(accessURL, version)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-cache")
		fmt.Fprint(w, text)
	})
}

// quote makes one word of a shell of s.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
