//go:build !race

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox"
)

// maxHostBytes is what one eval may cost the host beyond the guest's own memory,
// whatever the script: the native stack of its calls, log lines, result, texts
// of errors. Measured is 125 MiB at most. All but 20 MiB of it is the stack of a
// guest that recurses as deep as it may, 64 MiB, and the smaller ones that it
// outgrew, which together are as large and wait for the collector.
const maxHostBytes = 160 << 20

// childVariable makes this test binary measure instead of test.
const childVariable = "SANDBOXD_INTEGRATION_CHILD"

// hostCost is what one eval cost the process beyond the guest's memory.
type hostCost struct {
	Name  string
	Bytes int64
}

// runAsChild says whether this process is a measurement, and makes it.
func runAsChild() (ran bool, status int) {
	if os.Getenv(childVariable) == "" {
		return false, 0
	}
	costs, err := measureHostCosts()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(costs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return true, 1
	}
	return true, 0
}

// TestHostMemoryIsBounded measures in a process of its own, so that no other
// test's memory is counted and none of this one's is kept.
func TestHostMemoryIsBounded(t *testing.T) {
	t.Parallel()
	costs, err := hostCostsOfChild(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(costs), 73)
	for _, c := range costs {
		assert.Less(t, c.Bytes, int64(maxHostBytes), "%s costs the host too much", c.Name)
	}
}

// BenchmarkPeakHostMemory reports the greatest cost of one eval to the host
// beyond the guest's memory, over all cases.
func BenchmarkPeakHostMemory(b *testing.B) {
	var most hostCost
	for b.Loop() {
		costs, err := hostCostsOfChild(b.Context())
		require.NoError(b, err)
		for _, c := range costs {
			if c.Bytes > most.Bytes {
				most = c
			}
		}
	}
	b.Logf("%s costs most", most.Name)
	b.ReportMetric(mib(most.Bytes), "MiB/host")
	b.ReportMetric(0, "ns/op")
}

func hostCostsOfChild(ctx context.Context) ([]hostCost, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("measuring: %w: %s", err, clip(stderr.String()))
	}
	var costs []hostCost
	return costs, json.Unmarshal(out, &costs)
}

// measureHostCosts runs every case, each from a heap that was just collected.
func measureHostCosts() ([]hostCost, error) {
	cases, err := loadCases()
	if err != nil {
		return nil, err
	}
	for name, script := range map[string]string{
		"log lines":        "for (let i = 0; i < 1e5; i++) console.log('')",
		"one long line":    "console.log('x'.repeat(2e6))",
		"largest result":   "'x'.repeat((1 << 20) - 2)",
		"long error texts": "throw Object.assign(new Error('m'.repeat(4e6)), { name: 'n'.repeat(4e6), stack: 's'.repeat(4e6) })",
		"deep, then wide":  "(function f(n) { return n ? [f(n - 1)] : 'x'.repeat(1e5) })(4000)",
		"recursion at every stage": `const dive = () => dive() + 1, recurse = () => { try { dive() } catch {} }; recurse();
			(async () => { await 0; recurse(); await new Promise(r => setTimeout(() => { recurse(); r() }, 1)); return { toJSON() { recurse(); return 1 } } })()`,
		"a stack to look through": "const e = new Error('x'); e.stack = '(sandboxd:\\n' + '\\n'.repeat(2e7); throw e",
		"awaits in awaits":        "const f = async (n) => (n ? [await f(n - 1)] : 0); await f(2000); 1",
	} {
		c := &scriptCase{name: name, Script: script}
		c.Limits.TimeoutMs = 3_000
		cases = append(cases, c)
	}
	sb, closeAll, err := openSandbox(&sandbox.Options{Defaults: sandbox.Limits{LogBytes: sandbox.DefaultLogBytes}})
	if err != nil {
		return nil, err
	}
	var costs []hostCost
	for _, c := range cases {
		// What takes long takes no more memory then.
		c.Limits.TimeoutMs = min(c.endsBy().Milliseconds(), 3_000)
		cost, err := hostCostOf(sb, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		costs = append(costs, hostCost{c.name, cost})
	}
	return costs, closeAll()
}

func hostCostOf(sb *sandbox.Sandbox, c *scriptCase) (int64, error) {
	debug.FreeOSMemory()
	// Makes the high-water mark the present (proc(5)).
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0, err
	}
	before, err := residentBytes()
	if err != nil {
		return 0, err
	}
	o, err := evalCase(sb, c)
	if err != nil {
		return 0, err
	}
	peak, err := statusBytes("VmHWM")
	return peak - before - o.Usage.MemoryPeakBytes, err
}

// residentBytes is the memory that the process holds now.
func residentBytes() (int64, error) { return statusBytes("VmRSS") }

// statusBytes reads a size of this process (proc(5)).
func statusBytes(name string) (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, errors.New("/proc/self/status has no " + name)
}
