package subject

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/loom-sandbox/sandboxd/bench/internal/work"
)

// nodeRequest is one line to node/main.mjs.
type nodeRequest struct {
	Op      string  `json:"op"`
	Job     nodeJob `json:"job"`
	N       int     `json:"n,omitempty"`
	Callers int     `json:"callers,omitempty"`
	MS      float64 `json:"ms,omitempty"`
}

type nodeJob struct {
	Code        string `json:"code"`
	Result      string `json:"result"`
	Input       string `json:"input,omitempty"`
	Want        string `json:"want"`
	Logs        int    `json:"logs,omitempty"`
	TimeoutMS   int64  `json:"timeoutMs"`
	MemoryBytes int64  `json:"memoryBytes"`
}

func newNodeJob(j work.Job) nodeJob {
	return nodeJob{j.Code, j.Result, j.Input, j.Want, j.Logs, work.Timeout.Milliseconds(), work.MemoryBytes}
}

// nodeAnswer is one line from it; times are in microseconds.
type nodeAnswer struct {
	US        []float64 `json:"us"`
	ElapsedUS float64   `json:"elapsedUs"`
	Error     string    `json:"error"`
}

// nodeEngine is a process that measures with its own clock.
type nodeEngine struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

func startNode(cmd *exec.Cmd) (Engine, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &nodeEngine{cmd, stdin, bufio.NewReader(stdout)}, nil
}

// ask waits for one answer; a process that gives none by ctx's end is killed.
func (e *nodeEngine) ask(ctx context.Context, request nodeRequest) (nodeAnswer, error) {
	var answer nodeAnswer
	text, err := json.Marshal(request)
	if err != nil {
		return answer, err
	}
	defer context.AfterFunc(ctx, func() { _ = e.cmd.Process.Kill() })()
	if _, err := e.stdin.Write(append(text, '\n')); err != nil {
		return answer, fmt.Errorf("node took no request: %w", err)
	}
	line, err := e.out.ReadBytes('\n')
	if err != nil {
		return answer, errors.Join(fmt.Errorf("node gave no answer: %w", err), ctx.Err())
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return answer, fmt.Errorf("node gave no JSON: %w", err)
	}
	if answer.Error != "" {
		return answer, errors.New(answer.Error)
	}
	return answer, nil
}

// Time implements [Engine].
func (e *nodeEngine) Time(ctx context.Context, job work.Job, n int) ([]time.Duration, error) {
	answer, err := e.ask(ctx, nodeRequest{Op: "time", Job: newNodeJob(job), N: n})
	return durations(answer.US), err
}

// Flow implements [Engine].
func (e *nodeEngine) Flow(ctx context.Context, job work.Job, callers int, d time.Duration) (Flow, error) {
	answer, err := e.ask(ctx, nodeRequest{
		Op: "throughput", Job: newNodeJob(job), Callers: callers, MS: float64(d) / float64(time.Millisecond),
	})
	return Flow{Each: durations(answer.US), Elapsed: time.Duration(answer.ElapsedUS * 1000)}, err
}

// Close implements [Engine].
func (e *nodeEngine) Close() error {
	return errors.Join(e.stdin.Close(), e.cmd.Wait())
}

func durations(us []float64) []time.Duration {
	all := make([]time.Duration, len(us))
	for i, v := range us {
		all[i] = time.Duration(v * 1000)
	}
	return all
}
