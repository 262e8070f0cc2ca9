package subprocess

import (
	"bufio"
	"io"
	"os/exec"
	"sync"
)

// child is a child process as the host holds it.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	ending sync.Once
}

// command is how a child is started: with nothing of the host's. A container or
// a micro-VM is started here instead.
func command(program, argument, emptyDir string) *exec.Cmd {
	cmd := exec.Command(program, argument)
	cmd.Env = []string{} // nil would be the host's
	cmd.Dir = emptyDir
	cmd.SysProcAttr = ownGroup() // so that a signal to the host's group spares it
	return cmd
}

func startChild(program, argument, emptyDir string) (*child, error) {
	cmd := command(program, argument, emptyDir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &child{cmd: cmd, stdin: stdin, stdout: bufio.NewReader(stdout)}, nil
}

// answer is a reply, or why there is none.
type answer struct {
	reply reply
	err   error
}

// ask sends a message and reads the answer of at most limit bytes. A child that
// does neither read nor answer holds up the channel and nobody else; end frees
// what waits here.
func (c *child) ask(message any, limit int64) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		var a answer
		if a.err = send(c.stdin, message); a.err == nil {
			a.err = receive(c.stdout, limit, &a.reply)
		}
		answers <- a
	}()
	return answers
}

// stop tells the child to end what it does, answer and exit.
func (c *child) stop() { _ = c.stdin.Close() }

// end kills the child and whatever it started, and waits until it is gone.
func (c *child) end() {
	c.ending.Do(func() {
		kill(c.cmd.Process)
		_ = c.cmd.Wait() // closes the pipes, too; how it ended is known: by us
	})
}
