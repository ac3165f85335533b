package command

import (
	"bytes"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vault is a keyring in memory, which may refuse.
type vault struct {
	secrets map[string]string
	refuse  error
}

func (v *vault) Get(account string) (string, error) { return v.secrets[account], v.refuse }

func (v *vault) Set(account, secret string) error {
	if v.refuse == nil {
		v.secrets[account] = secret
	}
	return v.refuse
}

func (v *vault) Delete(account string) error {
	delete(v.secrets, account)
	return v.refuse
}

// newRun makes a run with a keyring and these arguments.
func newRun(t *testing.T, v *vault, args ...string) (*Run, *bytes.Buffer) {
	t.Helper()
	var errs bytes.Buffer
	a := New(Streams{In: strings.NewReader(""), Out: &errs, Err: &errs}, []string{"HOME=" + t.TempDir()}, func(*Run) *Command { return &Command{Name: "coder", Max: -1} })
	a.Keyring = v
	for _, o := range a.Root.Options {
		if err := o.PreParse(); err != nil {
			t.Fatal(err)
		}
		for _, arg := range args {
			if name, value, _ := strings.Cut(arg, "="); name == o.Flag {
				if err := o.Set(name, value); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return a, &errs
}

func TestSessionsAreKeptInTheKeyring(t *testing.T) {
	v := &vault{secrets: map[string]string{}}
	a, _ := newRun(t, v)
	here, there := &url.URL{Scheme: "https", Host: "Coder.example.com"}, &url.URL{Scheme: "https", Host: "other.example.com", Path: "/coder"}
	for at, token := range map[*url.URL]string{here: "one", there: "two"} {
		if err := a.StoreSession(at, token); err != nil {
			t.Fatal(err)
		}
	}
	if v.secrets["coder.example.com"] != "one" || v.secrets["other.example.com/coder"] != "two" {
		t.Errorf("the keyring holds %v", v.secrets)
	}
	if _, err := os.Stat(filepath.Join(a.ConfigDir, "session")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file holds the session too: %v", err)
	}
	if err := a.ForgetSession(there); err != nil {
		t.Error(err)
	}
	if token, err := a.Session(here); token != "one" || err != nil {
		t.Errorf("the session is %q, %v", token, err)
	}
	if token, err := a.SessionOf(there); token != "" || err != nil {
		t.Errorf("the forgotten session is %q, %v", token, err)
	}
}

func TestSessionsAreKeptInAFile(t *testing.T) {
	at := &url.URL{Scheme: "https", Host: "coder.example.com"}
	dir := t.TempDir()
	for name, c := range map[string]struct {
		v    *vault
		args []string
		warn bool
	}{
		"of a directory that was chosen": {&vault{secrets: map[string]string{}}, []string{"global-config=" + dir}, false},
		"without the keyring":            {&vault{secrets: map[string]string{}}, []string{"use-keyring=false"}, false},
		"of a keyring that refuses":      {&vault{secrets: map[string]string{}, refuse: errors.New("locked")}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, errs := newRun(t, c.v, c.args...)
			if err := a.StoreSession(at, "one"); err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(filepath.Join(a.ConfigDir, "session")); string(b) != "one" || err != nil || len(c.v.secrets) > 0 {
				t.Errorf("the file holds %q, %v, and the keyring %v", b, err, c.v.secrets)
			}
			if token, err := a.SessionOf(at); token != "one" || err != nil {
				t.Errorf("the session is %q, %v", token, err)
			}
			if token, _ := a.SessionOf(&url.URL{Scheme: "https", Host: "other.example.com"}); token != "" {
				t.Error("another server would receive the session")
			}
			if got := strings.Contains(errs.String(), "keyring"); got != c.warn {
				t.Errorf("warned %v: %s", got, errs)
			}
			errs.Reset()
			if err := a.ForgetSession(at); err != nil {
				t.Errorf("the session cannot be forgotten: %v", err)
			}
			if _, err := os.Stat(filepath.Join(a.ConfigDir, "session")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the file is still there: %v", err)
			}
			if got := strings.Contains(errs.String(), "keyring"); got != c.warn {
				t.Errorf("warned %v: %s", got, errs)
			}
		})
	}
}
