package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/builtins"
)

// BenchmarkProcess is the time from the start of the command to its end with one
// small eval, as a person at a shell waits for it.
func BenchmarkProcess(b *testing.B) {
	dir := b.TempDir()
	binary := filepath.Join(dir, "sandboxd.exe")
	out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(b, err, string(out))
	run := func(b *testing.B, flags ...string) {
		var took []time.Duration
		for b.Loop() {
			start := time.Now()
			out, err := exec.Command(binary, append([]string{"eval", "-e", "1 + 1"}, flags...)...).Output()
			took = append(took, time.Since(start))
			require.NoError(b, err)
			require.Equal(b, "2\n", string(out))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[0].Microseconds())/1000, "min-ms")
	}
	cache := filepath.Join(dir, "cache")
	for _, backend := range builtins.Backends() {
		if backend.Unavailable != "" || backend.Warning != "" {
			continue
		}
		name := []string{"--backend", backend.Name}
		b.Run(backend.Name+" without cache", func(b *testing.B) { run(b, append(name, "--no-cache")...) })
		name = append(name, "--cache-dir", cache)
		_, err = exec.Command(binary, append([]string{"eval", "-e", "1"}, name...)...).Output()
		require.NoError(b, err)
		b.Run(backend.Name+" with cache", func(b *testing.B) { run(b, name...) })
	}
}
