package archtest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/internal/archtest"
)

// small is a plan for the sources of this test.
func small() *archtest.Plan {
	return &archtest.Plan{
		Module: "example.com/house",
		Rows: []archtest.Row{
			{Package: ".", Own: []string{"a", "b"}},
			{Package: "a", Own: []string{"b", "c"}, Modules: []string{"example.org/json"}, TestOwn: []string{"d"}, TestModules: []string{"example.org/engine"}},
			{Package: "b"}, {Package: "c"}, {Package: "d"}, {Package: "cmd/x", Own: []string{"a", "b"}},
		},
		Tests:    []string{"example.org/assert"},
		Modules:  map[string]string{"other": "an example", "later": "may come"},
		TestOnly: []archtest.TestOnly{{Package: "b", Name: "Unguarded", Because: "it guards nothing"}},
		Changes:  map[string]string{"a/args.go: os.Args": "hides a secret"},
		Never: []archtest.Never{
			{From: "a", Import: "~/c/...", Because: "a stands without c"},
			{From: "b", Import: "net/http/...", AndTests: true, Because: "b reaches no network"},
			{From: "...", Import: "example.org/engine/...", Except: []string{"a/..."}, AndTests: true, Because: "engines are large"},
		},
		Vars:      map[string]string{"a/table.go: table": "only read"},
		LongFiles: map[string]string{"a/long.go": "a table"},
		Cgo:       map[string]string{"b/c.go": "a library"},
	}
}

// clean is a source tree that keeps the plan.
func clean() map[string]string {
	return map[string]string{
		"go.mod":            "module example.com/house",
		"root.go":           "package house; import \"example.com/house/a\"",
		"a/a.go":            "package a; import (\"fmt\"; \"example.com/house/b\"; \"example.org/json/text\")",
		"a/a_test.go":       "package a_test; import (\"example.com/house/a\"; \"example.com/house/d\"; \"example.org/engine\"; \"example.org/assert/x\")",
		"a/table.go":        "package a; var table = [2]int{1, 2}",
		"a/args.go":         "package a; import \"os\"; func f() { os.Args[1] = \"\" }",
		"a/long.go":         "package a\n" + strings.Repeat("\n", archtest.MaxLines),
		"a/fast_unsafe.go":  "package a; import \"unsafe\"",
		"a/testdata/bad.go": "package util; func init() {}",
		"b/b.go":            "package b; import (\"errors\"; \"io\"; \"regexp\"; \"time\"); var ErrX = errors.New(\"b: x\"); var (errY = errors.New(\"b: y\"); word = regexp.MustCompile(\"w\"); zero = time.Date(1, 1, 1, 1, 1, 1, 1, time.UTC)); var _ io.Reader = (*T)(nil); var _ io.Reader = T{}; var _ io.Reader = (F)(nil); type T struct{}; type F func()",
		"b/build.go":        "package b; func Unguarded() {}",
		"b/build_test.go":   "package b; func f() { Unguarded() }",
		"b/c.go":            "package b; import \"C\"",
		"b/embed.go":        "package b\n\nimport _ \"embed\"\n\n//go:embed x.txt\nvar text string\n",
		"b/b_test.go":       "package b; import . \"strings\"; import _ \"fmt\"; var shared = map[string]int{}; func init() { shared[\"x\"] = 1 }",
		"a/testdata/c.c":    "int f();",
		"cmd/x/main.go":     "package main; import _ \"example.com/house/a\"",
		"b/x.js":            strings.Repeat("\n", archtest.MaxLines),
		"other/go.mod":      "module example.com/other",
		"other/o.go":        "package common; import \"C\"",
		".hidden/h.go":      "package common",
	}
}

func TestACleanTreeHasNoProblems(t *testing.T) {
	t.Parallel()
	problems, err := archtest.Check(tree(nil), small())
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestEachBrokenRuleIsNamedWithItsFile(t *testing.T) {
	t.Parallel()
	const forgotten = "is for something that does not exist"
	for name, c := range map[string]struct {
		file, source string
		want         []string // parts of the one problem; none for none
	}{
		"package without a row":      {"e/e.go", "package e", []string{"e/e.go: ", "package e", "has no row"}},
		"own package":                {"b/bad.go", `package b; import "example.com/house/d"`, []string{"b/bad.go: ", `"example.com/house/d"`, "of this module only []"}},
		"own package for tests only": {"a/bad.go", `package a; import "example.com/house/d"`, []string{"a/bad.go: ", `"example.com/house/d"`, "only [b c]"}},
		"itself, outside a test":     {"a/bad.go", `package a; import "example.com/house/a"`, []string{"a/bad.go: ", `"example.com/house/a"`}},
		"other module":               {"a/bad.go", `package a; import "example.org/yaml"`, []string{"a/bad.go: ", `"example.org/yaml"`, "of other modules only [example.org/json]"}},
		"module with a longer name":  {"a/bad.go", `package a; import "example.org/jsonx"`, []string{"a/bad.go: ", `"example.org/jsonx"`}},
		"module for tests only":      {"a/bad.go", `package a; import "example.org/assert"`, []string{"a/bad.go: ", `"example.org/assert"`}},
		"in a test":                  {"b/bad_test.go", `package b_test; import "example.org/yaml"`, []string{"b/bad_test.go: ", `"example.org/yaml"`}},
		"never, though in the row":   {"a/bad.go", `package a; import "example.com/house/c"`, []string{"a/bad.go: ", `"example.com/house/c"`, "a stands without c"}},
		"never, but tests may":       {"a/good_test.go", `package a; import "example.com/house/c"`, nil},
		"never of the standard":      {"b/bad.go", `package b; import "net/http/httptest"`, []string{"b/bad.go: ", `"net/http/httptest"`, "b reaches no network"}},
		"never, in tests too":        {"b/bad_test.go", `package b; import "net/http"`, []string{"b/bad_test.go: ", `"net/http"`, "b reaches no network"}},
		"engine in a test":           {"c/bad_test.go", `package c; import "example.org/engine/api"`, []string{"c/bad_test.go: ", `"example.org/engine/api"`, "engines are large"}},
		"for another system":         {"b/bad_plan9.go", "//go:build plan9 && never\n\npackage b\n\nimport \"example.com/house/d\"", []string{"b/bad_plan9.go: ", `"example.com/house/d"`}},
		"ignored by the build":       {"b/bad.go", "//go:build ignore\n\npackage main\n\nimport \"example.com/house/d\"", []string{"b/bad.go: ", `"example.com/house/d"`}},
		"cgo":                        {"b/bad.go", `package b; import "C"`, []string{"b/bad.go: ", `"C"`, "no cgo"}},
		"cgo that is planned":        {"b/c.go", `package b; import "C"; const x = 1`, nil},
		"unsafe":                     {"b/bad.go", `package b; import "unsafe"`, []string{"b/bad.go: ", `"unsafe"`, "*_unsafe.go"}},
		"unsafe in a test":           {"b/bad_test.go", `package b; import "unsafe"`, []string{"b/bad_test.go: ", `"unsafe"`}},
		"init":                       {"b/bad.go", "package b; func init() {}", []string{"b/bad.go: ", "func init"}},
		"method called init":         {"b/good.go", "package b; type T int; func (T) init() {}", nil},
		"map":                        {"b/bad.go", "package b; var cache = map[string]int{}", []string{"b/bad.go: ", "var cache"}},
		"number":                     {"b/bad.go", "package b; var a, count int", []string{"b/bad.go: ", "var a"}},
		"function":                   {"b/bad.go", "package b; import \"time\"; var now = time.Now", []string{"b/bad.go: ", "var now"}},
		"error with another name":    {"b/bad.go", "package b; import \"errors\"; var NotFound = errors.New(\"x\")", []string{"b/bad.go: ", "var NotFound"}},
		"variable of a function":     {"b/good.go", "package b; func f() { var n int; _ = n }", nil},
		"empty name":                 {"b/bad.go", "package util", []string{"b/bad.go: ", "package util"}},
		"empty name of a test":       {"b/bad_test.go", "package helpers_test", []string{"b/bad_test.go: ", "package helpers_test"}},
		"long file":                  {"b/bad.go", "package b\n" + strings.Repeat("\n", archtest.MaxLines), []string{"b/bad.go: ", "401 lines", "at most 400"}},
		"long script":                {"b/bad.js", strings.Repeat("\n", archtest.MaxLines+1), []string{"b/bad.js: ", "401 lines"}},
		"long file of test data":     {"b/testdata/good.js", strings.Repeat("\n", archtest.MaxLines+1), nil},
		"variable that is gone":      {"a/table.go", "package a", []string{"a/table.go: table: ", forgotten}},
		"file that is short now":     {"a/long.go", "package a", []string{"a/long.go: ", "no longer needs"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireProblem(t, c.file, c.source, c.want)
		})
	}
}

// requireProblem puts one file into the clean tree and demands a problem whose
// text has these parts, and none in other files; or no problem at all.
func requireProblem(t *testing.T, file, source string, want []string) {
	t.Helper()
	problems, err := archtest.Check(tree(map[string]string{file: source}), small())
	require.NoError(t, err)
	if want == nil {
		require.Empty(t, problems)
		return
	}
	require.NotEmpty(t, problems)
	text := problems[0].String()
	for _, part := range want {
		assert.Contains(t, text, part)
	}
	for _, p := range problems[1:] { // "var a, count" gives two
		assert.Equal(t, problems[0].File, p.File)
	}
}

func TestATreeThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	_, err := archtest.Check(tree(map[string]string{"b/bad.go": "package"}), small())
	assert.ErrorContains(t, err, "b/bad.go")
}

func TestTwoRowsForAPackageAreAProblem(t *testing.T) {
	t.Parallel()
	plan := small()
	plan.Rows = append(plan.Rows, archtest.Row{Package: "b"})
	problems, err := archtest.Check(tree(nil), plan)
	require.NoError(t, err)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0].String(), "one row")
}

// TestTheHouseRefusesWhatItMustNeverImport puts one forbidden import at a time
// into the packages that must not have it.
func TestTheHouseRefusesWhatItMustNeverImport(t *testing.T) {
	t.Parallel()
	const module = "github.com/loom-sandbox/sandboxd/"
	for _, c := range []struct{ pkg, file, imported string }{
		{"spi", "x.go", module + "taint"},
		{"spi", "x.go", "golang.org/x/sync/errgroup"},
		{"spi", "x_test.go", "github.com/tetratelabs/wazero"},
		{"taint", "x.go", module + "spi"},
		{"taint", "x_test.go", module + "sandbox"},
		{"sandbox", "x.go", module + "backends/wazero"},
		{"sandbox", "x_test.go", module + "backends/wazero"},
		{"sandbox", "x_test.go", "github.com/tetratelabs/wazero"},
		{"sandbox", "x.go", "net/http"},
		{"sandbox", "x.go", "net"},
		{"sandbox", "x.go", "os"},
		{"sandbox", "x.go", "os/exec"},
		{"sandbox", "x.go", "plugin"},
		{"sandbox", "x.go", "expvar"},
		{"sandbox", "x.go", "net/rpc"},
		{"sandbox", "x.go", "syscall"},
		{"sandbox", "x_unsafe.go", "unsafe"},
		{"taint", "x.go", "net/url"},
		{"taint", "x.go", "os/exec"},
		{"taint", "x.go", "syscall/js"},
		{"taint", "x_unsafe.go", "unsafe"},
		{"spi", "x.go", "net/http/httptest"},
		{"spi", "x.go", "os/signal"},
		{"spi", "x.go", "testing"},
		{"spi", "x.go", "log"},
		{"spi", "x_test.go", "plugin"},
		{"spi", "x_unsafe.go", "unsafe"},
		{"cmd/sandboxd/command", "x.go", "net/http/pprof"},
		{"backends/wazero", "x_test.go", "expvar"},
		{"backends/wazero", "x.go", module + "backends/wasmtime"},
		{"backends/wazero", "x_test.go", module + "backends/process"},
		{"backends/wazero", "x.go", module + "sandbox"},
		{"backends/wasmtime", "x.go", module + "taint"},
		{"backends/process", "x.go", module + "tools"},
		{"backends/qjs", "x.go", module + "llm"},
		{"backends/internal/quickjs", "x.go", "github.com/tetratelabs/wazero/api"},
		{"backends/internal/quickjs", "x_test.go", "github.com/bytecodealliance/wasmtime-go/v37"},
		{"backends/internal/wasmbin", "x.go", module + "spi"},
		{"agent", "x.go", module + "backends/wazero"},
		{"agent", "x.go", module + "cmd/sandboxd/internal/httpapi"},
		{"cmd/sandboxd/command", "x.go", module + "backends/wazero"},
		{"cmd/sandboxd/command", "x.go", module + "internal/integration"},
		{"surprise", "x.go", "fmt"},
	} {
		name := c.pkg + "/" + c.file
		plan := archtest.House()
		plan.Vars, plan.LongFiles, plan.Cgo, plan.TestOnly = nil, nil, nil, nil // of files that this tree has not got
		problems, err := archtest.Check(fstest.MapFS{
			name: {Data: fmt.Appendf(nil, "package x; import %q", c.imported)},
		}, plan)
		require.NoError(t, err)
		if assert.Len(t, problems, 1, "%s with %s", name, c.imported) {
			assert.Equal(t, name, problems[0].File)
		}
	}
}

// tree is the clean tree with some files in place of others.
func tree(changes map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for _, files := range []map[string]string{clean(), changes} {
		for name, source := range files {
			out[name] = &fstest.MapFile{Data: []byte(source)}
		}
	}
	return out
}
