package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// minMajor is the oldest PostgreSQL that the schema runs on.
const minMajor = 13

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// findBinaries returns a directory with postgres and initdb of the wanted major
// version; "" accepts minMajor and later. It uses c.BinDir only, if set. Otherwise
// it searches PATH and the directories of distributions, and finally downloads the
// programs into the cache.
func findBinaries(ctx context.Context, c Config, want string) (string, error) {
	var seen []string
	for _, dir := range candidateDirs(c.BinDir) {
		major, err := majorVersion(ctx, dir)
		if err != nil {
			if c.BinDir != "" {
				return "", fmt.Errorf("the given PostgreSQL directory %s cannot be used: %w", c.BinDir, err)
			}
			continue
		}
		if major >= minMajor && (want == "" || want == strconv.Itoa(major)) {
			return dir, nil
		}
		seen = append(seen, fmt.Sprintf("%s (version %d)", dir, major))
	}
	if c.BinDir != "" {
		return "", fmt.Errorf("the PostgreSQL in %s does not fit: version %s is needed", c.BinDir, cmp.Or(want, "13 or later"))
	}
	dir, err := fetchBinaries(c, want, download)
	if err != nil {
		msg := fmt.Sprintf("no PostgreSQL %s was found on this machine", cmp.Or(want, "13 or later"))
		if len(seen) > 0 {
			msg += " (found " + strings.Join(seen, ", ") + ")"
		}
		return "", fmt.Errorf("%s, and none could be fetched: %w\nInstall PostgreSQL (for example: apt-get install postgresql), or give --postgres-url", msg, err)
	}
	return dir, nil
}

func candidateDirs(given string) []string {
	if given != "" {
		return []string{given}
	}
	var dirs []string
	if p, err := exec.LookPath("postgres"); err == nil {
		if p, err := filepath.EvalSymlinks(p); err == nil {
			dirs = append(dirs, filepath.Dir(p))
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/libexec/postgresql*",
		"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin", "/usr/local/pgsql/bin",
	} {
		found, _ := filepath.Glob(pattern)
		slices.Reverse(found) // newest first
		dirs = append(dirs, found...)
	}
	return dirs
}

func majorVersion(ctx context.Context, dir string) (int, error) {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return 0, errors.New("it has no initdb")
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("ask postgres for its version: %w", err)
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("postgres says %q for its version", out)
	}
	return strconv.Atoi(string(m[1]))
}

// fetchBinaries returns the directory of PostgreSQL's programs in the cache. It
// creates the cache directory if needed. If the programs are missing, download
// writes them to bin/bin below scratch, a temporary directory.
func fetchBinaries(c Config, want string, download func(v embeddedpostgres.PostgresVersion, scratch string) error) (string, error) {
	if c.CacheDir == "" {
		return "", errors.New("there is no cache directory")
	}
	versions := map[string]embeddedpostgres.PostgresVersion{
		"13": embeddedpostgres.V13, "14": embeddedpostgres.V14, "15": embeddedpostgres.V15,
		"16": embeddedpostgres.V16, "17": embeddedpostgres.V17, "18": embeddedpostgres.V18, "": embeddedpostgres.V17,
	}
	v, ok := versions[want]
	if !ok {
		return "", fmt.Errorf("version %s cannot be fetched", want)
	}
	dir := filepath.Join(c.CacheDir, "postgres", string(v)+"-"+runtime.GOOS+"-"+runtime.GOARCH)
	bin := filepath.Join(dir, "bin")
	if _, err := os.Stat(filepath.Join(bin, "postgres")); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("create the cache directory: %w", err)
	}
	scratch, err := os.MkdirTemp(c.CacheDir, "postgres-fetch-")
	if err != nil {
		return "", fmt.Errorf("create a temporary directory in the cache: %w", err)
	}
	defer os.RemoveAll(scratch)
	failed := download(v, scratch)
	if _, err := os.Stat(filepath.Join(scratch, "bin", "bin", "postgres")); err != nil {
		return "", errors.Join(failed, err)
	}
	if err := os.Rename(filepath.Join(scratch, "bin"), dir); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("store the downloaded PostgreSQL: %w", err)
	}
	return bin, nil
}

// download downloads and unpacks PostgreSQL's programs. The library does this only
// as part of starting a server, so download starts a server and stops it. The
// server fails to start as root, which is harmless because the programs exist then.
func download(v embeddedpostgres.PostgresVersion, scratch string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	output := &tail{max: 4 << 10}
	db := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().Version(v).Port(uint32(port)).
		CachePath(filepath.Join(scratch, "cache")).RuntimePath(filepath.Join(scratch, "run")).
		BinariesPath(filepath.Join(scratch, "bin")).Logger(output))
	if err := db.Start(); err != nil {
		return err
	}
	return db.Stop()
}
