package download

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/download/checksum"
)

// fixture is a Handler behind a real listener, and its directories.
type fixture struct {
	h                          *Handler
	url                        string
	admin, beside, share, logs string
}

func serve(t *testing.T) *fixture {
	t.Helper()
	root := t.TempDir()
	f := &fixture{admin: filepath.Join(root, "admin"), beside: filepath.Join(root, "usr", "bin"), share: filepath.Join(root, "usr", "share", "coder", "bin")}
	put(t, filepath.Join(f.beside, "coder"), "own")
	log, err := os.Create(filepath.Join(root, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	f.logs = log.Name()
	f.h, err = New(Config{Dir: f.admin, Cache: filepath.Join(root, "cache"), Own: filepath.Join(f.beside, "coder"), Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(f.h)
	f.url = srv.URL
	t.Cleanup(func() {
		srv.Close()
		if err := f.h.Stop(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return f
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// putPacked writes text as Pack does, to dir/name.gz.
func putPacked(t *testing.T, dir, name, text string) {
	t.Helper()
	plain := filepath.Join(t.TempDir(), name)
	put(t, plain, text)
	if err := Pack(filepath.Join(dir, name+".gz"), plain); err != nil {
		t.Fatal(err)
	}
}

// ask sends a request as it is: the transport neither asks for gzip nor undoes it.
func (f *fixture) ask(t *testing.T, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, f.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, string(body)
}

func gunzip(t *testing.T, body string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func etag(text string) string {
	sum := sha1.Sum([]byte(text))
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// code is text that compresses to a third, as programs do.
func code(size int) string {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(r.IntN(6))
	}
	return string(b)
}

func TestWhichFileIsServed(t *testing.T) {
	f := serve(t)
	own := ownName()
	put(t, filepath.Join(f.beside, own), "stale copy of this executable")
	put(t, filepath.Join(f.admin, "coder-darwin-arm64"), "signed by the administrator")
	put(t, filepath.Join(f.beside, "coder-darwin-arm64"), "darwin beside")
	put(t, filepath.Join(f.beside, "coder-agent-linux-armv7"), "agent beside")
	putPacked(t, f.share, "coder-windows-arm64.exe", "installed windows")
	putPacked(t, f.share, "coder-agent-darwin-amd64", "installed agent")
	putPacked(t, f.beside, "coder-linux-armv7", "packed, stale")
	put(t, filepath.Join(f.beside, "coder-linux-armv7"), "plain")
	put(t, filepath.Join(f.admin, "coder-darwin-arm64.asc"), "-----BEGIN PGP SIGNATURE-----")
	if err := os.MkdirAll(filepath.Join(f.admin, "coder-agent-windows-amd64.exe"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/bin/" + own:                              {200, "own"},
		"/bin/" + own + "?for=agent":               {200, "own"},
		"/bin/coder-darwin-arm64":                  {200, "signed by the administrator"},
		"/bin/coder-darwin-arm64.asc":              {200, "-----BEGIN PGP SIGNATURE-----"},
		"/bin/coder-linux-armv7":                   {200, "plain"},
		"/bin/coder-linux-armv7?for=agent":         {200, "agent beside"},
		"/bin/coder-agent-linux-armv7":             {200, "agent beside"},
		"/bin/coder-agent-darwin-amd64":            {200, "installed agent"},
		"/bin/coder-windows-arm64.exe":             {200, "installed windows"},
		"/bin/coder-windows-arm64.exe.sha256":      {200, fmt.Sprintf("%x  coder-windows-arm64.exe\n", sha256.Sum256([]byte("installed windows")))},
		"/bin/coder-windows-arm64.exe.asc":         {404, "no file coder-windows-arm64.exe.asc lies beside"},
		"/bin/" + own + ".asc":                     {404, "no signature"},
		"/bin/coder-darwin-amd64":                  {404, "make clis"},
		"/bin/coder-darwin-amd64.asc":              {404, "has no coder-darwin-amd64"},
		"/bin/coder-agent-linux-arm64":             {404, "make agents"},
		"/bin/coder-agent-windows-amd64.exe":       {404, f.admin},
		"/bin/coder-windows-amd64":                 {404, "coder-<os>-<arch>"},
		"/bin/coder-linux-amd64.exe":               {404, "coder-<os>-<arch>"},
		"/bin/coder-darwin-armv7":                  {404, "coder-<os>-<arch>"},
		"/bin/coder-linux-amd64.gz":                {404, "coder-<os>-<arch>"},
		"/bin/coder":                               {404, "coder-<os>-<arch>"},
		"/bin/":                                    {404, "coder-<os>-<arch>"},
		"/bin/..%2fcoder-linux-amd64":              {404, "coder-<os>-<arch>"},
		"/bin/coder-plan9-amd64?for=agent":         {404, "coder-<os>-<arch>"},
		"/bin/coder-agent-linux-armv7?for=agent":   {200, "agent beside"},
		"/bin/coder-agent-linux-armv7.asc?for=any": {404, "no signature"},
	} {
		resp, body := f.ask(t, "GET", path)
		if resp.StatusCode != want.status || !strings.Contains(body, want.text) || want.status == 200 && body != want.text {
			t.Errorf("%s: %d %q, want %d %q", path, resp.StatusCode, body, want.status, want.text)
		}
		if want.status == 404 && resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %s", path, resp.Header.Get("Content-Type"))
		}
	}
	if resp, _ := f.ask(t, "POST", "/bin/"+own); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d", resp.StatusCode)
	}
}

// What editors rely on, for a plain file and for one that Pack wrote.
func TestEncodingsAndConditions(t *testing.T) {
	f := serve(t)
	text := code(300_000)
	put(t, filepath.Join(f.beside, "coder-linux-arm64"), text)
	putPacked(t, f.share, "coder-darwin-arm64", text)
	z := &bytes.Buffer{}
	w := gzip.NewWriter(z) // as `gzip` does, without our comment
	io.WriteString(w, text)
	w.Close()
	put(t, filepath.Join(f.share, "coder-darwin-amd64.gz"), z.String())
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))

	for _, path := range []string{"/bin/coder-linux-arm64", "/bin/coder-darwin-arm64", "/bin/coder-darwin-amd64"} {
		for accept, packed := range map[string]bool{
			"gzip": true, "deflate, gzip;q=0.5, br": true, "GZIP": true, "deflate, gzip, br, zstd": true,
			"": false, "identity": false, "gzip;q=0": false, "gzip; q=0.000": false, "br": false, "xgzip": false,
		} {
			for _, method := range []string{"GET", "HEAD"} {
				resp, body := f.ask(t, method, path, "Accept-Encoding", accept)
				at := fmt.Sprintf("%s %s %q", method, path, accept)
				head := resp.Header
				if resp.StatusCode != 200 || head.Get("ETag") != etag(text) || head.Get("Content-Type") != "application/octet-stream" ||
					head.Get("X-Original-Content-Length") != strconv.Itoa(len(text)) || head.Get("X-Coder-SHA256") != sum || head.Get("Vary") != "Accept-Encoding" {
					t.Errorf("%s: %d %v", at, resp.StatusCode, head)
				}
				if got := head.Get("Content-Encoding") == "gzip"; got != packed {
					t.Errorf("%s: compressed is %t", at, got)
				}
				if !packed && resp.ContentLength != int64(len(text)) {
					t.Errorf("%s: length %d", at, resp.ContentLength)
				}
				if method == "HEAD" {
					if body != "" {
						t.Errorf("%s: %d bytes", at, len(body))
					}
					continue
				}
				if packed {
					body = gunzip(t, body)
				}
				if body != text {
					t.Errorf("%s: another content of %d bytes", at, len(body))
				}
			}
			for _, tag := range []string{etag(text), "W/" + etag(text), `"other", ` + etag(text), `"` + sum + `"`, `"` + sum + `-gzip"`, "*"} {
				if resp, body := f.ask(t, "GET", path, "Accept-Encoding", accept, "If-None-Match", tag); resp.StatusCode != 304 || body != "" || resp.Header.Get("ETag") != etag(text) {
					t.Errorf("%s %q with %s: %d", path, accept, tag, resp.StatusCode)
				}
			}
			future := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
			if resp, _ := f.ask(t, "GET", path, "Accept-Encoding", accept, "If-None-Match", etag("old"), "If-Modified-Since", future); resp.StatusCode != 200 {
				t.Errorf("%s %q with an old copy: %d", path, accept, resp.StatusCode)
			}
		}
	}
}

func TestRanges(t *testing.T) {
	f := serve(t)
	text := code(300_000)
	put(t, filepath.Join(f.beside, "coder-linux-arm64"), text)
	putPacked(t, f.share, "coder-darwin-arm64", text)
	for _, path := range []string{"/bin/coder-linux-arm64", "/bin/coder-darwin-arm64"} {
		for asked, want := range map[string]string{
			"bytes=0-6": text[:7], "bytes=250000-250009": text[250000:250010], "bytes=-5": text[len(text)-5:], "bytes=299990-": text[299990:],
		} {
			// A range is of the program, also for a client that takes gzip.
			resp, body := f.ask(t, "GET", path, "Range", asked, "Accept-Encoding", "gzip")
			if resp.StatusCode != 206 || body != want || resp.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s %s: %d, %d bytes", path, asked, resp.StatusCode, len(body))
			}
		}
		if resp, body := f.ask(t, "GET", path, "Range", "bytes=10-12", "If-Range", etag("old")); resp.StatusCode != 200 || body != text {
			t.Errorf("%s: a range of another version: %d", path, resp.StatusCode)
		}
		if resp, _ := f.ask(t, "GET", path, "Range", "bytes=400000-"); resp.StatusCode != 416 {
			t.Errorf("%s: beyond the end: %d", path, resp.StatusCode)
		}
	}
	// Each further range would cost unpacking from the start.
	if resp, body := f.ask(t, "GET", "/bin/coder-darwin-arm64", "Range", "bytes=0-1,200000-200001,100-101"); resp.StatusCode != 200 || body != text {
		t.Errorf("several ranges of a packed program: %d", resp.StatusCode)
	}
}

// The first client gets what is compressed so far, others the same file.
func TestCompressionIsStreamedAndKept(t *testing.T) {
	f := serve(t)
	file := filepath.Join(f.beside, "coder-linux-arm64")
	text := code(3_000_000)
	put(t, file, text)
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			resp, body := f.ask(t, "GET", "/bin/coder-linux-arm64", "Accept-Encoding", "gzip")
			if resp.Header.Get("Content-Encoding") != "gzip" || gunzip(t, body) != text {
				t.Errorf("%v: %d bytes", resp.Header, len(body))
			}
		})
	}
	clients.Wait()
	f.h.running.Wait()
	kept := func() []string {
		files, err := filepath.Glob(filepath.Join(f.h.c.Cache, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	if files := kept(); len(files) != 1 {
		t.Fatalf("kept: %v", files)
	}
	if resp, body := f.ask(t, "GET", "/bin/coder-linux-arm64", "Accept-Encoding", "gzip"); resp.ContentLength != int64(len(body)) || gunzip(t, body) != text {
		t.Errorf("from the cache: length %d of %d", resp.ContentLength, len(body))
	}
	// A newer program takes the place of the former; those of others stay.
	other := filepath.Join(f.h.c.Cache, "coder-linux-arm64x-"+strings.Repeat("0", 64)+".gz")
	put(t, other, "")
	text += "new"
	put(t, file, text)
	if _, body := f.ask(t, "GET", "/bin/coder-linux-arm64", "Accept-Encoding", "gzip"); gunzip(t, body) != text {
		t.Error("the former program is served")
	}
	f.h.running.Wait()
	if files := kept(); len(files) != 2 {
		t.Errorf("kept: %v", files)
	}
}

// A copy that was packed at build time is used only for the very same program.
func TestPackedCopyOfAPlainFile(t *testing.T) {
	f := serve(t)
	text := code(100_000)
	put(t, f.h.c.Own, text)
	putPacked(t, f.share, ownName(), text)
	resp, body := f.ask(t, "GET", "/bin/"+ownName(), "Accept-Encoding", "gzip")
	if resp.ContentLength != int64(len(body)) || gunzip(t, body) != text {
		t.Errorf("%v: %d", resp.Header, len(body))
	}
	if _, err := os.Stat(f.h.c.Cache); err == nil {
		t.Error("compressed again")
	}
	putPacked(t, f.share, ownName(), "another version")
	if _, body := f.ask(t, "GET", "/bin/"+ownName(), "Accept-Encoding", "gzip"); gunzip(t, body) != text {
		t.Error("another version is served")
	}
}

// While one program is compressed, others are served as they are.
func TestOneCompressionAtATime(t *testing.T) {
	f := serve(t)
	put(t, filepath.Join(f.beside, "coder-linux-arm64"), "other")
	if err := os.MkdirAll(f.h.c.Cache, 0o755); err != nil {
		t.Fatal(err)
	}
	tmp, err := os.CreateTemp(f.h.c.Cache, "coder-*.new")
	if err != nil {
		t.Fatal(err)
	}
	p := &packing{path: "elsewhere", tmp: tmp, changed: make(chan struct{})}
	f.h.mu.Lock()
	f.h.current = p
	f.h.mu.Unlock()
	if resp, body := f.ask(t, "GET", "/bin/coder-linux-arm64", "Accept-Encoding", "gzip"); resp.Header.Get("Content-Encoding") != "" || body != "other" {
		t.Errorf("%v %q", resp.Header, body)
	}

	// A client follows a compression that stands still, until that fails: the
	// answer must not look complete.
	put(t, filepath.Join(f.beside, "coder-darwin-arm64"), "slow")
	sum, err := checksum.Compute(strings.NewReader("slow"))
	if err != nil {
		t.Fatal(err)
	}
	p.path = filepath.Join(f.h.c.Cache, "coder-darwin-arm64-"+sum.SHA256+".gz")
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := p.Write([]byte("first bytes")); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /bin/coder-darwin-arm64 HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n")
	got := make([]byte, 0, 4096)
	for !bytes.Contains(got, []byte("first bytes")) {
		n, err := conn.Read(got[len(got):cap(got)])
		if got = got[:len(got)+n]; err != nil {
			t.Fatalf("%v after %q", err, got)
		}
	}
	f.h.finish(p, "coder-darwin-arm64", io.ErrUnexpectedEOF)
	rest, _ := io.ReadAll(conn) // an end or a reset
	if bytes.Contains(rest, []byte("0\r\n\r\n")) {
		t.Errorf("a broken answer ends as a whole one: %q", rest)
	}
	if log, err := os.ReadFile(f.logs); err != nil || !strings.Contains(string(log), "cannot be compressed") {
		t.Errorf("%v %s", err, log)
	}
}

func TestWithoutACache(t *testing.T) {
	f := serve(t)
	put(t, filepath.Join(f.beside, "coder-linux-arm64"), "program")
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, "")
	f.h.c.Cache = filepath.Join(file, "no directory can be here")
	for range 2 {
		if resp, body := f.ask(t, "GET", "/bin/coder-linux-arm64", "Accept-Encoding", "gzip"); resp.Header.Get("Content-Encoding") != "" || body != "program" {
			t.Errorf("%v %q", resp.Header, body)
		}
	}
	if log, err := os.ReadFile(f.logs); err != nil || strings.Count(string(log), "served uncompressed") != 1 {
		t.Errorf("%v %s", err, log)
	}
}

func TestBrokenFiles(t *testing.T) {
	f := serve(t)
	put(t, filepath.Join(f.share, "coder-linux-arm64.gz"), "this is no gzip")
	put(t, filepath.Join(f.share, "coder-darwin-arm64"), "x")
	put(t, filepath.Join(f.share, "coder-darwin-arm64.asc"), strings.Repeat("x", maxSignature+1))
	large, err := os.Create(filepath.Join(f.share, "coder-windows-amd64.exe"))
	if err != nil {
		t.Fatal(err)
	}
	defer large.Close()
	if err := large.Truncate(checksum.MaxSize + 1); err != nil { // takes no space
		t.Fatal(err)
	}
	for path, reason := range map[string]string{
		"/bin/coder-linux-arm64": "invalid header", "/bin/coder-linux-arm64.sha256": "invalid header", "/bin/coder-darwin-arm64.asc": "which no signature is",
		"/bin/coder-windows-amd64.exe": "is larger than",
	} {
		resp, body := f.ask(t, "GET", path)
		log, err := os.ReadFile(f.logs)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 500 || !strings.Contains(body, "server's log") || strings.Contains(body, f.share) || !strings.Contains(string(log), reason) {
			t.Errorf("%s: %d %q, log %s", path, resp.StatusCode, body, log)
		}
	}
}

// A program that is replaced while it is compressed is not kept under the sum
// of the former.
func TestReplacedWhileCompressed(t *testing.T) {
	sum, err := checksum.Compute(strings.NewReader("former"))
	if err != nil {
		t.Fatal(err)
	}
	tmp, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer tmp.Close()
	p := &packing{tmp: tmp, changed: make(chan struct{})}
	if err := pack(t.Context(), p, strings.NewReader("newer"), sum); err == nil || !strings.Contains(err.Error(), "changed while") {
		t.Errorf("%v", err)
	}
}

func TestPackIsReproducible(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "coder-linux-amd64")
	put(t, from, code(200_000))
	var files [2][]byte
	for i := range files {
		to := filepath.Join(dir, strconv.Itoa(i), "x.gz")
		if err := Pack(to, from); err != nil {
			t.Fatal(err)
		}
		var err error
		if files[i], err = os.ReadFile(to); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two files differ")
	}
	if err := Pack(filepath.Join(dir, "x.gz"), filepath.Join(dir, "absent")); err == nil {
		t.Error("an absent program was packed")
	}
}

func TestOwnName(t *testing.T) {
	if got := ownName(); !fileName.MatchString(got) || !strings.Contains(got, runtime.GOOS) {
		t.Error(got)
	}
}
