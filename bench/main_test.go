package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain is also the program itself, for tests of the whole and as a child.
func TestMain(m *testing.M) {
	if os.Getenv("BENCH_AS_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), "BENCH_AS_PROGRAM=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func TestAQuickRunWritesJSONOfTheDocumentedShape(t *testing.T) {
	t.Parallel()
	stdout, stderr, err := program(t, "-quick", "-rows", "small-eval", "-json")
	require.NoError(t, err, stderr)
	assert.Contains(t, stderr, "small-eval (1 of 1", "progress")
	var got struct {
		Machine struct {
			CPU, OS, Kernel, Go string
			Cores               int
			Peers               map[string]string
		}
		Rows []struct {
			Row, Subject, Limits, Isolation, Reason string
			P50us, P99us, P10us, P90us, Ratio       *float64
			N                                       int
		}
		Missing []struct{ Subject, Reason string }
	}
	d := json.NewDecoder(bytes.NewBufferString(stdout))
	require.NoError(t, d.Decode(&got))
	assert.False(t, d.More(), "one JSON text")
	assert.NotEmpty(t, got.Machine.Go)
	assert.Positive(t, got.Machine.Cores)
	measured := map[string]bool{}
	for _, r := range got.Rows {
		measured[r.Subject] = true
		assert.Equal(t, "small-eval", r.Row)
		require.Empty(t, r.Reason, r.Subject)
		assert.NotEmpty(t, r.Limits)
		assert.NotEmpty(t, r.Isolation)
		assert.Positive(t, r.N)
		for _, v := range []*float64{r.P10us, r.P50us, r.P90us, r.P99us, r.Ratio} {
			require.NotNil(t, v, r.Subject)
			assert.Positive(t, *v, r.Subject)
		}
		assert.LessOrEqual(t, *r.P50us, *r.P99us)
	}
	for _, m := range got.Missing {
		measured[m.Subject] = true
		assert.NotEmpty(t, m.Reason)
	}
	for _, name := range []string{"ours/wazero", "ours/wasmtime", "goja", "modernc", "qjs", "node:vm", "isolated-vm", "quickjs-emscripten"} {
		assert.True(t, measured[name], "%s is measured, or said to be missing", name)
	}
}

func TestTheTableNamesPeersThatAreNotThere(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"", "-markdown"} {
		args := []string{"-quick", "-rows", "small-eval", "-subjects", "goja,isolated-vm", "-node", t.TempDir()}
		if form != "" {
			args = append(args, form)
		}
		stdout, stderr, err := program(t, args...)
		require.NoError(t, err, stderr)
		assert.Contains(t, stdout, "goja")
		assert.Contains(t, stdout, "not measured: isolated-vm: ")
	}
}

func TestWhatIsNotKnownIsRefused(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`-rows: no "x"; there are small-eval`:     {"-rows", "x"},
		`-subjects: no "y"; there are ours/wazer`: {"-subjects", "goja,y"},
		"exclude each other":                      {"-json", "-markdown"},
		`argument "z" is not known`:               {"z"},
		"not defined: -nonsense":                  {"-nonsense"},
	} {
		stdout, stderr, err := program(t, args...)
		require.Error(t, err, want)
		assert.Contains(t, stderr, want)
		assert.Empty(t, stdout)
	}
}

func TestHelpNamesTheFlags(t *testing.T) {
	t.Parallel()
	_, stderr, err := program(t, "-help")
	require.NoError(t, err)
	for _, flag := range []string{"-json", "-markdown", "-quick", "-rows", "-subjects"} {
		assert.Contains(t, stderr, flag)
	}
}

func TestANameChoosesItselfOrWhatBeginsWithIt(t *testing.T) {
	t.Parallel()
	all := []string{"json", "json-io", "size-1", "size-4"}
	self := func(s string) string { return s }
	for list, want := range map[string][]string{
		"":             all,
		"json":         {"json"},
		"size":         {"size-1", "size-4"},
		"size-4, json": {"json", "size-4"},
		"json,json":    {"json"},
	} {
		got, err := narrow("rows", list, all, self)
		require.NoError(t, err)
		assert.Equal(t, want, got, list)
	}
	_, err := narrow("rows", "json,", all, self)
	require.Error(t, err)
}
