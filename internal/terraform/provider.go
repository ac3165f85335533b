package terraform

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/cage"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/environ"
	"github.com/seed-2a7f8fe7/coder/internal/tfprovider"
)

// providerProcess serves coder/coder for one session and leads its process
// group.
type providerProcess struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	answers  *json.Decoder
	reattach string // the value of TF_REATTACH_PROVIDERS
	ended    bool
}

// providerStart bounds the time in which the provider must reply to a line.
const providerStart = 30 * time.Second

// maxSocketDir is the longest directory name with which a socket in it fits
// into a socket address, 104 bytes on the tightest system.
const maxSocketDir = 80

// startProvider starts the provider's process, whose sockets are created in
// dir. It does not wait for it; ready does.
func startProvider(program, dir string, c *cage.Cage) (*providerProcess, error) {
	cmd := exec.Command(program)
	cmd.Args = []string{tfprovider.Name, tfprovider.SessionArgument}
	cmd.Dir = dir
	cmd.Env = append(environ.Daemon(os.Environ()), tfprovider.CookieKey+"="+tfprovider.CookieValue)
	if len(dir) <= maxSocketDir {
		cmd.Env = append(cmd.Env, "PLUGIN_UNIX_SOCKET_DIR="+dir)
	}
	cmd.SysProcAttr = c.Hold(inNewGroup())
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start provider: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start provider: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start provider: %w", err)
	}
	return &providerProcess{cmd: cmd, in: in, answers: json.NewDecoder(bufio.NewReader(out))}, nil
}

// ready waits on its first call until the provider listens.
func (p *providerProcess) ready() error {
	if p.ended {
		return &templateError{"the job was canceled"}
	}
	if p.reattach != "" {
		return nil
	}
	answer, err := p.answer()
	if err != nil || answer.Reattach == nil {
		return fmt.Errorf("starting %s as the coder provider failed: %w", p.cmd.Path, err)
	}
	// OpenTofu expands coder/coder to its own registry.
	config, err := json.Marshal(map[string]*tfprovider.Reattach{
		tfprovider.Address: answer.Reattach,
		tofuAddress:        answer.Reattach,
	})
	p.reattach = string(config)
	return err
}

const tofuAddress = "registry.opentofu.org/coder/coder"

// setEnv makes env the only CODER_* variables of the provider.
func (p *providerProcess) setEnv(env map[string]string) error {
	if err := p.ready(); err != nil {
		return err
	}
	if err := json.NewEncoder(p.in).Encode(tfprovider.Command{Env: env}); err != nil {
		return fmt.Errorf("the coder provider exited: %w", err)
	}
	answer, err := p.answer()
	if err != nil {
		return fmt.Errorf("the coder provider exited: %w", err)
	}
	if answer.Error != "" {
		return &templateError{answer.Error}
	}
	return nil
}

func (p *providerProcess) answer() (tfprovider.Answer, error) {
	timer := time.AfterFunc(providerStart, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	var a tfprovider.Answer
	err := p.answers.Decode(&a)
	return a, err
}

// leader returns the id of the session's process group.
func (p *providerProcess) leader() int { return p.cmd.Process.Pid }

// close stops the provider only.
func (p *providerProcess) close() {
	if p.ended {
		return
	}
	p.ended = true
	timer := time.AfterFunc(time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = json.NewEncoder(p.in).Encode(tfprovider.Command{Quit: true})
	_ = p.cmd.Wait()
}

// kill stops the provider and everything else in its group.
func (p *providerProcess) kill() {
	if p.ended {
		return
	}
	p.ended = true
	killGroup(p.leader())
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}
