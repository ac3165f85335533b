package embedded

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// processUser is the user that PostgreSQL runs as. The zero value is the user of
// this process.
type processUser struct {
	namespace bool                // a user namespace maps root to namespaceID; files keep root as owner
	drop      *syscall.Credential // credentials of another account
}

// namespaceID is the user and group ID of root inside the user namespace. Any ID
// except 0 works.
const namespaceID = 1000

// findUnprivilegedUser returns the user that PostgreSQL runs as, which is never
// root. A server that does not run as root uses its own user. A server that runs as
// root uses a user namespace, because files then keep their owner. If the kernel or
// a container forbids user namespaces, it uses the account postgres or nobody.
func findUnprivilegedUser() (processUser, error) {
	if os.Geteuid() != 0 {
		return processUser{}, nil
	}
	u := processUser{namespace: true}
	probe := exec.Command("/bin/true")
	u.configure(probe)
	if probe.Run() == nil {
		return u, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		acc, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(acc.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(acc.Gid, 10, 32)
		if err1 != nil || err2 != nil || uid == 0 {
			continue
		}
		return processUser{drop: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return processUser{}, errors.New(
		"PostgreSQL does not run as root, and there is no account postgres or nobody to run it as: start the server as another user, or give --postgres-url",
	)
}

// canReach reports whether the user can traverse the directories above dir.
func (u processUser) canReach(dir string) bool {
	if u.drop == nil || dir == "" {
		return true
	}
	for d := filepath.Dir(dir); ; d = filepath.Dir(d) {
		st, err := os.Stat(d)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && st.Mode().Perm()&0o001 == 0 {
			return false
		}
		if d == filepath.Dir(d) {
			return true
		}
	}
}

// chown makes the user the owner of dir and all files below it.
func (u processUser) chown(dir string) error {
	owner := os.Geteuid()
	group := os.Getegid()
	if u.drop != nil {
		owner, group = int(u.drop.Uid), int(u.drop.Gid)
	} else if !u.namespace {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		if s, ok := st.Sys().(*syscall.Stat_t); ok && int(s.Uid) == owner {
			return nil
		}
		return os.Lchown(path, owner, group)
	})
}

// configure makes cmd run as the user. The command gets its own process group: on
// Ctrl-C the server shuts PostgreSQL down, not the terminal. When the server dies,
// the kernel sends SIGINT to the command, which then shuts down cleanly.
func (u processUser) configure(cmd *exec.Cmd) {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	switch {
	case u.namespace:
		a.Cloneflags = syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: namespaceID, HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: namespaceID, HostID: os.Getegid(), Size: 1}}
	case u.drop != nil:
		a.Credential = u.drop
	}
	cmd.SysProcAttr = a
}

// isPostgres reports whether the process is a PostgreSQL with this data directory.
func isPostgres(pid int, data string) bool {
	process := filepath.Join("/proc", strconv.Itoa(pid))
	name, err := os.ReadFile(filepath.Join(process, "comm"))
	if err != nil || !bytes.HasPrefix(name, []byte("postgres")) {
		return false
	}
	cwd, err := os.Stat(filepath.Join(process, "cwd"))
	if err != nil {
		return false
	}
	dir, err := os.Stat(data)
	return err == nil && os.SameFile(cwd, dir)
}
