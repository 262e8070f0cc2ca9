package subprocess

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// goneWithin is how long the system may take to let go of a killed process. It
// needs milliseconds, unless a device holds the process up.
const goneWithin = 5 * time.Second

// child is a child process as the host holds it.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader

	ending sync.Once
	endErr error // set by ending
}

// makeEmptyDir makes the directory that children work in: one for all, so none
// may write there and be read by the next. Whoever is root, or changes the mode
// back, can all the same.
func makeEmptyDir() (string, error) {
	dir, err := os.MkdirTemp("", "sandboxd-subprocess-*")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o500)
}

func removeEmptyDir(dir string) error {
	_ = os.Chmod(dir, 0o700) // in case something is in there after all
	return os.RemoveAll(dir)
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

// end kills the child and its process group and waits until the child is gone,
// but not for ever: callers hold a lock. What the child started and put into a
// group of its own lives on; a container or a machine would end that, too.
func (c *child) end() error {
	c.ending.Do(func() {
		kill(c.cmd.Process)
		gone := make(chan struct{})
		go func() {
			_ = c.cmd.Wait() // closes the pipes, too; how it ended is known: by us
			close(gone)
		}()
		late := time.NewTimer(goneWithin)
		defer late.Stop()
		select {
		case <-gone:
		case <-late.C:
			c.endErr = fmt.Errorf("subprocess: the child process %d was killed and is still there after %v", c.cmd.Process.Pid, goneWithin)
		}
	})
	return c.endErr
}
