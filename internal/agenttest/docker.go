//go:build unix

package agenttest

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
)

// Docker is a machine with programs that do as docker and devcontainer do, as far
// as dev containers need: a container is a directory, and what is executed in it
// a process that ends with it.
type Docker struct {
	// Dir is the machine's; Bin, in it, has the programs.
	Dir, Bin string
	t        testing.TB
}

// standInDir names the variable by which the programs know their machine.
const standInDir = "CODER_TEST_DOCKER"

// NewDocker returns a machine, until the end of the test. The test's TestMain must
// call DockerProgram.
func NewDocker(t testing.TB) *Docker {
	t.Helper()
	d := &Docker{Dir: t.TempDir(), t: t}
	d.Bin = filepath.Join(d.Dir, "bin")
	d.must(os.MkdirAll(d.Bin, 0o755))
	d.must(os.MkdirAll(filepath.Join(d.Dir, "containers"), 0o755))
	exe, err := os.Executable()
	d.must(err)
	for _, name := range []string{"docker", "devcontainer"} {
		d.must(os.Symlink(exe, filepath.Join(d.Bin, name)))
	}
	t.Cleanup(func() { // what is executed ends with its container
		for _, c := range machine(d.Dir).all() {
			machine(d.Dir).remove(c)
		}
	})
	return d
}

// Env returns the variables with which a process is on the machine.
func (d *Docker) Env() []string {
	return []string{standInDir + "=" + d.Dir, "PATH=" + d.Bin + string(filepath.ListSeparator) + os.Getenv("PATH")}
}

// Without takes a program away.
func (d *Docker) Without(program string) { d.must(os.Remove(filepath.Join(d.Bin, program))) }

// Die makes docker fail, or with false work again.
func (d *Docker) Die(dead bool) {
	if dead {
		d.must(os.WriteFile(filepath.Join(d.Dir, "dead"), nil, 0o644))
		return
	}
	d.must(os.Remove(filepath.Join(d.Dir, "dead")))
}

// Calls returns the commands that were called, such as "docker ps".
func (d *Docker) Calls() []string {
	b, _ := os.ReadFile(filepath.Join(d.Dir, "calls")) // nobody called
	return strings.Fields(strings.ReplaceAll(string(b), " ", "_"))
}

// Folder makes a directory with a devcontainer.json and gives its path.
func (d *Docker) Folder(name, config string) string {
	d.t.Helper()
	folder := filepath.Join(d.Dir, "work", name)
	d.must(os.MkdirAll(filepath.Join(folder, ".devcontainer"), 0o755))
	d.must(os.WriteFile(filepath.Join(folder, ".devcontainer", "devcontainer.json"), []byte(config), 0o644))
	return folder
}

// Containers returns the ids of the containers that run.
func (d *Docker) Containers() (ids []string) {
	for _, c := range machine(d.Dir).all() {
		if c.Running {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Stop stops a container, as a user would by hand; Remove removes it.
func (d *Docker) Stop(id string) {
	m := machine(d.Dir)
	for _, c := range m.all() {
		if c.ID == id {
			c.Running = false
			m.put(c)
			m.event(id)
		}
	}
}

// Remove removes a container.
func (d *Docker) Remove(id string) { machine(d.Dir).remove(container{ID: id}) }

func (d *Docker) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// DockerProgram makes this process the program that it is called as, if that is
// docker or devcontainer, and ends it then.
func DockerProgram() {
	dir, name := os.Getenv(standInDir), filepath.Base(os.Args[0])
	if dir == "" || name != "docker" && name != "devcontainer" {
		return
	}
	if f, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err == nil {
		fmt.Fprintln(f, name+" "+os.Args[1])
		f.Close()
	}
	m, err := machine(dir), error(nil)
	if name == "docker" {
		err = m.docker(os.Args[1], os.Args[2:])
	} else {
		err = m.devcontainer(os.Args[1], os.Args[2:])
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(max(1, exit.ExitCode()))
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// machine is the directory of a machine.
type machine string

type container struct {
	ID      string
	Created time.Time
	Running bool
	Labels  map[string]string
}

func (m machine) path(parts ...string) string {
	return filepath.Join(append([]string{string(m)}, parts...)...)
}

func (m machine) all() (out []container) {
	list, _ := os.ReadDir(m.path("containers")) // it may be gone already
	for _, e := range list {
		var c container
		if b, err := os.ReadFile(m.path("containers", e.Name(), "container.json")); err == nil && json.Unmarshal(b, &c) == nil {
			out = append(out, c)
		}
	}
	return out
}

func (m machine) put(c container) {
	dir := m.path("containers", c.ID)
	b, _ := json.Marshal(c) // it can be written
	tmp := filepath.Join(dir, "new"+strconv.Itoa(os.Getpid()))
	if errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(tmp, b, 0o644)) == nil {
		_ = os.Rename(tmp, filepath.Join(dir, "container.json")) // the next look shows it
	}
}

func (m machine) remove(c container) {
	if os.Remove(m.path("containers", c.ID, "container.json")) == nil {
		m.event(c.ID)
	}
}

func (m machine) event(id string) {
	if f, err := os.OpenFile(m.path("events"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err == nil {
		fmt.Fprintln(f, id)
		f.Close()
	}
}

func (m machine) running(id string) bool {
	return slices.ContainsFunc(m.all(), func(c container) bool { return c.ID == id && c.Running })
}

func (m machine) dead() bool {
	_, err := os.Stat(m.path("dead"))
	return err == nil
}

const every = 10 * time.Millisecond // how often the programs look

func (m machine) docker(command string, args []string) error {
	if m.dead() {
		return errors.New("cannot connect to the Docker daemon")
	}
	switch command {
	case "ps":
		for _, c := range m.all() {
			fmt.Println(c.ID)
		}
	case "inspect":
		return m.inspect(args)
	case "events":
		return m.events()
	case "rm":
		for _, id := range args[1:] {
			m.remove(container{ID: id})
		}
	case "cp":
		id, _, _ := strings.Cut(args[1], ":")
		return m.unpack(id)
	case "exec":
		return m.exec(args)
	default:
		return fmt.Errorf("docker %s is not known here", command)
	}
	return nil
}

func (m machine) inspect(args []string) error {
	out := []any{}
	for _, c := range m.all() {
		if slices.Contains(args, c.ID) {
			status := "exited"
			if c.Running {
				status = "running"
			}
			out = append(out, map[string]any{
				"Id": c.ID, "Name": "/box-" + c.ID[:4], "Created": c.Created, "State": map[string]any{"Running": c.Running, "Status": status},
				"Config": map[string]any{"Image": "image", "Labels": c.Labels}, "Mounts": []any{map[string]string{"Source": "/a", "Destination": "/b"}},
				"NetworkSettings": map[string]any{"Ports": map[string]any{"80/tcp": []any{map[string]string{"HostIp": "0.0.0.0", "HostPort": "8080"}}, "53/udp": nil}},
			})
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// events lists everything that ever happened, which is more than was asked for.
func (m machine) events() error {
	f, err := os.OpenFile(m.path("events"), os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return err
	}
	for !m.dead() {
		if _, err := io.Copy(os.Stdout, f); err != nil {
			return err
		}
		time.Sleep(every)
	}
	return errors.New("the daemon is gone")
}

func (m machine) unpack(id string) error {
	root := m.path("containers", id, "root")
	for r := tar.NewReader(os.Stdin); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			_ = os.Remove(path) // it may run
			var f *os.File
			if f, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755); err == nil {
				_, err = io.Copy(f, r)
				err = errors.Join(err, f.Close())
			}
		}
		if err != nil {
			return err
		}
	}
}

// exec runs a program of a container's directory until the container ends.
func (m machine) exec(args []string) error {
	env := []string{"HOME=" + m.path("home"), "PATH=/usr/bin:/bin", standInDir + "=" + string(m)}
	for len(args) > 0 && strings.HasPrefix(args[0], "--") {
		switch args[0] {
		case "--env":
			if name := args[1]; strings.Contains(name, "=") {
				env = append(env, name)
			} else {
				env = append(env, name+"="+os.Getenv(name))
			}
			args = args[1:]
		case "--user":
			env = append(env, "CONTAINER_USER="+args[1])
			args = args[1:]
		}
		args = args[1:]
	}
	id := args[0]
	if !m.running(id) {
		return fmt.Errorf("container %s is not running", id)
	}
	cmd := exec.Command(m.path("containers", id, "root", args[1]), args[2:]...)
	cmd.Env = append(env, "CODER_AGENT_LOG_DIR="+m.path("containers", id))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // its end is passed on, and nothing of this program's own
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the container's processes are no children of docker's client
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = os.WriteFile(m.path("containers", id, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644) // for who looks
	go func() {
		_, _ = io.Copy(in, bufio.NewReader(os.Stdin)) // it ends with the one who called
		in.Close()
	}()
	go func() {
		for m.running(id) && !m.dead() {
			time.Sleep(every)
		}
		_ = cmd.Process.Kill() // it may have ended
	}()
	return cmd.Wait()
}

// The labels of dev containers.
const (
	labelFolder = "devcontainer.local_folder"
	labelConfig = "devcontainer.config_file"
)

func (m machine) devcontainer(command string, args []string) error {
	folder, config, anew := "", "", slices.Contains(args, "--remove-existing-container")
	for i, a := range args {
		switch a {
		case "--workspace-folder":
			folder = args[i+1]
		case "--config":
			config = args[i+1]
		}
	}
	if config == "" {
		config = filepath.Join(folder, ".devcontainer", "devcontainer.json")
	}
	b, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	var c struct {
		Fail           string // why up fails
		Slow           string // a file that up waits for
		Hook           string // why what is run in the container fails
		RemoteUser     string
		RemoteEnv      map[string]string
		Customizations struct{ Coder json.RawMessage }
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return fmt.Errorf("devcontainer.json must contain a JSON object literal: %w", err)
	}
	if command == "read-configuration" {
		custom := []json.RawMessage{}
		if len(c.Customizations.Coder) > 0 {
			custom = append(custom, c.Customizations.Coder)
		}
		return json.NewEncoder(os.Stdout).Encode(map[string]any{
			"workspace":           map[string]string{"workspaceFolder": "/workspaces/" + filepath.Base(folder)},
			"mergedConfiguration": map[string]any{"remoteUser": c.RemoteUser, "remoteEnv": c.RemoteEnv, "customizations": map[string]any{"coder": custom}},
		})
	}
	fmt.Fprintln(os.Stderr, `{"type":"text","level":3,"text":"Building the image of `+filepath.Base(folder)+`"}`)
	for c.Slow != "" {
		if _, err := os.Stat(c.Slow); err == nil {
			break
		}
		time.Sleep(every)
	}
	outcome := map[string]string{"outcome": "error", "message": c.Fail, "description": "An error occurred building the image."}
	if c.Fail == "" {
		outcome = map[string]string{"outcome": "success", "containerId": m.up(folder, config, anew)}
		if c.Hook != "" {
			outcome["outcome"], outcome["message"] = "error", c.Hook
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(outcome); err != nil || outcome["outcome"] == "success" {
		return err
	}
	return errors.New("the outcome is an error")
}

// up returns the container of a folder, running.
func (m machine) up(folder, config string, anew bool) string {
	for _, c := range m.all() {
		if c.Labels[labelFolder] != folder {
			continue
		}
		if anew {
			m.remove(c)
			continue
		}
		if !c.Running {
			c.Running = true
			m.put(c)
			m.event(c.ID)
		}
		return c.ID
	}
	c := container{
		ID:      strings.ReplaceAll(uuid.NewString(), "-", ""),
		Created: time.Now(),
		Running: true,
		Labels:  map[string]string{labelFolder: folder, labelConfig: config},
	}
	m.put(c)
	m.event(c.ID)
	return c.ID
}
