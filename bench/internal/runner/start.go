package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/loom-sandbox/sandboxd/bench/internal/report"
	"github.com/loom-sandbox/sandboxd/bench/internal/work"
)

// startRow is the time from starting a process to the first result, with
// compiled code on disk where a subject keeps some.
func startRow() Row {
	return Row{
		Name: "start", Unit: report.UnitTime, rounds: func(p Plan) int { return p.Starts },
		warm: func(ctx context.Context, s *running) (warmth, error) { // it also fills the cache
			took, err := startOnce(ctx, s)
			return warmth{one: took}, err
		},
		sample: func(ctx context.Context, s *running, _ Plan, _ time.Duration) (sample, error) {
			took, err := startOnce(ctx, s)
			return sample{values: microseconds([]time.Duration{took})}, err
		},
	}
}

func startOnce(ctx context.Context, s *running) (took time.Duration, err error) {
	cmd := s.Start(ctx)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	line, readErr := bufio.NewReader(stdout).ReadBytes('\n')
	took = time.Since(begin)
	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("the process failed: %w", err)
	}
	if readErr != nil {
		return 0, fmt.Errorf("the process gave no answer: %w", readErr)
	}
	var got struct {
		Value string `json:"value"`
	}
	if err := json.Unmarshal(line, &got); err != nil {
		return 0, err
	}
	if got.Value != work.SmallEval().Want {
		return 0, fmt.Errorf("wrong answer: %.100s", got.Value)
	}
	return took, nil
}
