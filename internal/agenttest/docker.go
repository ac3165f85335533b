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

// Docker is a machine with stand-ins for the docker and devcontainer commands, as
// far as dev containers need them. A container is a directory. A command that
// docker exec runs in it is a process on this host, which ends with the container.
type Docker struct {
	// Dir is the directory of the machine. Bin is its subdirectory with the commands.
	Dir, Bin string
	t        testing.TB
}

// machineDirEnv is the environment variable that holds the machine's directory.
const machineDirEnv = "CODER_TEST_DOCKER"

// NewDocker returns a machine without containers. The test's cleanup removes it.
// The commands are symbolic links to the test binary, so TestMain must call
// DockerProgram.
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
	t.Cleanup(func() { // processes of docker exec end with their container
		for _, c := range machine(d.Dir).containers() {
			machine(d.Dir).remove(c)
		}
	})
	return d
}

// Env returns the environment variables that make a process use the machine's
// commands.
func (d *Docker) Env() []string {
	return []string{machineDirEnv + "=" + d.Dir, "PATH=" + d.Bin + string(filepath.ListSeparator) + os.Getenv("PATH")}
}

// RemoveProgram removes the docker or the devcontainer command.
func (d *Docker) RemoveProgram(program string) { d.must(os.Remove(filepath.Join(d.Bin, program))) }

// SetDown makes the Docker daemon unreachable, or reachable again if down is
// false. While the daemon is down, every docker command fails.
func (d *Docker) SetDown(down bool) {
	if down {
		d.must(os.WriteFile(filepath.Join(d.Dir, "down"), nil, 0o644))
		return
	}
	d.must(os.Remove(filepath.Join(d.Dir, "down")))
}

// Calls returns the commands that were called, such as "docker_ps".
func (d *Docker) Calls() []string {
	b, _ := os.ReadFile(filepath.Join(d.Dir, "calls")) // missing until the first call
	return strings.Fields(strings.ReplaceAll(string(b), " ", "_"))
}

// Folder creates a directory with a devcontainer.json and returns its path.
func (d *Docker) Folder(name, config string) string {
	d.t.Helper()
	folder := filepath.Join(d.Dir, "work", name)
	d.must(os.MkdirAll(filepath.Join(folder, ".devcontainer"), 0o755))
	d.must(os.WriteFile(filepath.Join(folder, ".devcontainer", "devcontainer.json"), []byte(config), 0o644))
	return folder
}

// Containers returns the IDs of the running containers.
func (d *Docker) Containers() (ids []string) {
	for _, c := range machine(d.Dir).containers() {
		if c.Running {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Stop stops a container, as docker stop does.
func (d *Docker) Stop(id string) {
	m := machine(d.Dir)
	for _, c := range m.containers() {
		if c.ID == id {
			c.Running = false
			m.writeContainer(c)
			m.recordEvent(id)
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

// DockerProgram runs the stand-in for docker or devcontainer and exits, if this
// process was started under one of these names on a machine. Otherwise it returns.
func DockerProgram() {
	dir, name := os.Getenv(machineDirEnv), filepath.Base(os.Args[0])
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

// machine is the path of a machine's directory.
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

func (m machine) containers() (out []container) {
	list, _ := os.ReadDir(m.path("containers")) // the test may have removed the machine
	for _, e := range list {
		var c container
		if b, err := os.ReadFile(m.path("containers", e.Name(), "container.json")); err == nil && json.Unmarshal(b, &c) == nil {
			out = append(out, c)
		}
	}
	return out
}

func (m machine) writeContainer(c container) {
	dir := m.path("containers", c.ID)
	b, _ := json.Marshal(c) // a container always encodes
	tmp := filepath.Join(dir, "new"+strconv.Itoa(os.Getpid()))
	if errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(tmp, b, 0o644)) == nil {
		_ = os.Rename(tmp, filepath.Join(dir, "container.json")) // a failure shows at the next read
	}
}

func (m machine) remove(c container) {
	if os.Remove(m.path("containers", c.ID, "container.json")) == nil {
		m.recordEvent(c.ID)
	}
}

func (m machine) recordEvent(id string) {
	if f, err := os.OpenFile(m.path("events"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err == nil {
		fmt.Fprintln(f, id)
		f.Close()
	}
}

func (m machine) isRunning(id string) bool {
	return slices.ContainsFunc(m.containers(), func(c container) bool { return c.ID == id && c.Running })
}

func (m machine) isDown() bool {
	_, err := os.Stat(m.path("down"))
	return err == nil
}

// pollInterval is how often the commands poll the machine's directory.
const pollInterval = 10 * time.Millisecond

func (m machine) docker(command string, args []string) error {
	if m.isDown() {
		return errors.New("cannot connect to the Docker daemon")
	}
	switch command {
	case "ps":
		for _, c := range m.containers() {
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
		return m.copyInto(id)
	case "exec":
		return m.exec(args)
	default:
		return fmt.Errorf("docker %s: the stand-in does not implement this command", command)
	}
	return nil
}

func (m machine) inspect(args []string) error {
	out := []any{}
	for _, c := range m.containers() {
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

// events prints all events since the machine was created and ignores the filters
// of the command. It follows new events until the daemon is down.
func (m machine) events() error {
	f, err := os.OpenFile(m.path("events"), os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return err
	}
	for !m.isDown() {
		if _, err := io.Copy(os.Stdout, f); err != nil {
			return err
		}
		time.Sleep(pollInterval)
	}
	return errors.New("the daemon is down")
}

// copyInto unpacks a tar archive from standard input into a container.
func (m machine) copyInto(id string) error {
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
			_ = os.Remove(path) // a running program cannot be overwritten
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

// exec runs a program from a container's directory until the program or the
// container ends.
func (m machine) exec(args []string) error {
	env := []string{"HOME=" + m.path("home"), "PATH=/usr/bin:/bin", machineDirEnv + "=" + string(m)}
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
	if !m.isRunning(id) {
		return fmt.Errorf("container %s is not running", id)
	}
	cmd := exec.Command(m.path("containers", id, "root", args[1]), args[2:]...)
	cmd.Env = append(env, "CODER_AGENT_LOG_DIR="+m.path("containers", id))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // the child gets EOF through the pipe and does not inherit standard input
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals to docker's process group do not reach the container
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = os.WriteFile(m.path("containers", id, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644) // for tests that inspect the process
	go func() {
		_, _ = io.Copy(in, bufio.NewReader(os.Stdin)) // ends when the caller closes standard input
		in.Close()
	}()
	go func() {
		for m.isRunning(id) && !m.isDown() {
			time.Sleep(pollInterval)
		}
		_ = cmd.Process.Kill() // fails if the process has ended
	}()
	return cmd.Wait()
}

// Labels that the devcontainer command sets on containers.
const (
	labelFolder = "devcontainer.local_folder"
	labelConfig = "devcontainer.config_file"
)

func (m machine) devcontainer(command string, args []string) error {
	folder, config, recreate := "", "", slices.Contains(args, "--remove-existing-container")
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
		Fail           string // error with which up fails before it creates the container
		Slow           string // path of a file that up waits for
		Hook           string // error of a lifecycle script, which fails up after it created the container
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
		time.Sleep(pollInterval)
	}
	outcome := map[string]string{"outcome": "error", "message": c.Fail, "description": "An error occurred building the image."}
	if c.Fail == "" {
		outcome = map[string]string{"outcome": "success", "containerId": m.up(folder, config, recreate)}
		if c.Hook != "" {
			outcome["outcome"], outcome["message"] = "error", c.Hook
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(outcome); err != nil || outcome["outcome"] == "success" {
		return err
	}
	return errors.New("the outcome is an error")
}

// up starts the container of a folder, which it creates if needed, and returns its
// ID. With recreate it first removes an existing container.
func (m machine) up(folder, config string, recreate bool) string {
	for _, c := range m.containers() {
		if c.Labels[labelFolder] != folder {
			continue
		}
		if recreate {
			m.remove(c)
			continue
		}
		if !c.Running {
			c.Running = true
			m.writeContainer(c)
			m.recordEvent(c.ID)
		}
		return c.ID
	}
	c := container{
		ID:      strings.ReplaceAll(uuid.NewString(), "-", ""),
		Created: time.Now(),
		Running: true,
		Labels:  map[string]string{labelFolder: folder, labelConfig: config},
	}
	m.writeContainer(c)
	m.recordEvent(c.ID)
	return c.ID
}
