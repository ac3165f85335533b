package sshd

import (
	"bufio"
	"os"
	"os/user"
	"strings"
)

// account is the user that all processes run as.
type account struct {
	name, home, shell string
}

// currentAccount determines the user of this process: from the user database,
// then from the environment, then from defaults.
func currentAccount(env []string) account {
	a := account{name: lookup(env, "USER"), home: lookup(env, "HOME"), shell: lookup(env, "SHELL")}
	if u, err := user.Current(); err == nil {
		a.name = u.Username
		if a.home == "" {
			a.home = u.HomeDir
		}
		if s := loginShell(u.Username); s != "" {
			a.shell = s
		}
	}
	if a.home == "" {
		a.home = os.TempDir()
	}
	for _, s := range []string{a.shell, "/bin/bash", "/bin/sh"} {
		if isExecutable(s) {
			a.shell = s
			break
		}
	}
	return a
}

// loginShell returns a user's shell from /etc/passwd, or "" when there is none
// or it forbids logins.
func loginShell(name string) string {
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		p := strings.Split(lines.Text(), ":")
		if len(p) == 7 && p[0] == name {
			if strings.HasSuffix(p[6], "/nologin") || strings.HasSuffix(p[6], "/false") || !isExecutable(p[6]) {
				return ""
			}
			return p[6]
		}
	}
	return ""
}

func isExecutable(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
}

// lookup returns the last value of a variable in an environment.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// canEnter reports whether dir is a directory.
func canEnter(dir string) bool {
	fi, err := os.Stat(dir)
	return err == nil && fi.IsDir()
}
