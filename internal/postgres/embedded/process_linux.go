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

// user is whom the child runs as.
type user struct {
	namespace bool                // root here, somebody else inside a user namespace: files stay root's
	drop      *syscall.Credential // somebody else altogether
}

// inside is the id that root has inside the namespace; any but 0.
const inside = 1000

// unprivileged finds a user other than root to run as. Nothing changes for a
// server that is not root. A user namespace needs no ownership of its own; where
// the kernel or a container forbids it, the account postgres or nobody takes over.
func unprivileged() (user, error) {
	if os.Geteuid() != 0 {
		return user{}, nil
	}
	u := user{namespace: true}
	probe := exec.Command("/bin/true")
	u.apply(probe)
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
		return user{drop: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return user{}, errors.New(
		"PostgreSQL does not run as root, and there is no account postgres or nobody to run it as: start the server as another user, or give --postgres-url",
	)
}

// reaches reports whether the child may pass through the directories above dir.
func (u user) reaches(dir string) bool {
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

// own makes the child's user the owner of the tree.
func (u user) own(dir string) error {
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

// apply makes cmd run as the user, in a process group of its own (a Ctrl-C on
// the terminal is for the server, which then stops it in order), and end in an
// orderly way when the server is gone.
func (u user) apply(cmd *exec.Cmd) {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	switch {
	case u.namespace:
		a.Cloneflags = syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: inside, HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: inside, HostID: os.Getegid(), Size: 1}}
	case u.drop != nil:
		a.Credential = u.drop
	}
	cmd.SysProcAttr = a
}

// isPostgres reports whether the process is a PostgreSQL that runs in data.
func isPostgres(pid int, data string) bool {
	process := filepath.Join("/proc", strconv.Itoa(pid))
	name, err := os.ReadFile(filepath.Join(process, "comm"))
	if err != nil || !bytes.HasPrefix(name, []byte("postgres")) {
		return false
	}
	there, err := os.Stat(filepath.Join(process, "cwd"))
	if err != nil {
		return false
	}
	here, err := os.Stat(data)
	return err == nil && os.SameFile(there, here)
}
