package archtest_test

import "testing"

type way struct {
	file, source string
	want         []string // parts of the one problem; none for none
}

func requireWays(t *testing.T, ways map[string]way) {
	t.Helper()
	for name, w := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireProblem(t, w.file, w.source, w.want)
		})
	}
}

func TestNothingRunsBecauseAPackageIsLinkedIn(t *testing.T) {
	t.Parallel()
	const (
		blank = "a blank variable only asserts an interface"
		early = "nothing runs before main"
		other = "a package has no variables but"
	)
	requireWays(t, map[string]way{
		"function called at once":     {"b/bad.go", `package b; var _ = func() bool { println("x"); return true }()`, []string{"b/bad.go: var _: ", blank}},
		"with a type":                 {"b/bad.go", `package b; var _ any = func() bool { return true }()`, []string{"b/bad.go: var _: ", blank}},
		"function called by name":     {"b/bad.go", "package b; func f(any) any { return nil }; var _ any = (f)(nil)", []string{"b/bad.go: var _: ", blank}},
		"function of another package": {"b/bad.go", `package b; import "io"; var _ any = (io.ReadAll)(nil)`, []string{"b/bad.go: var _: ", blank}},
		"function behind a pointer":   {"b/bad.go", "package b; func f() *func(any) any { return nil }; var _ any = (*f())(nil)", []string{"b/bad.go: var _: ", blank}},
		"literal with a call in it":   {"b/bad.go", "package b; type T []int; func f() int { return 0 }; var _ any = T{f()}", []string{"b/bad.go: var _: ", blank}},
		"assertion without a type":    {"b/bad.go", "package b; type T int; var _ = (*T)(nil)", []string{"b/bad.go: var _: ", blank}},
		"blank among others":          {"b/bad.go", "package b; func f() (int, error) { return 0, nil }; var errX, _ = f()", []string{"b/bad.go: var _: ", blank}},
		"assertion of a foreign type": {"b/good.go", `package b; import ("io"; "os"); var _ io.Reader = (*os.File)(nil)`, nil},
		"assertion of a generic type": {"b/good.go", "package b; type T[P any] struct{}; var _ any = (*T[int])(nil); var _ any = T[int]{}", nil},
		"text of an error":            {"b/bad.go", `package b; import "errors"; var errX = errors.New(func() string { return "" }())`, []string{"b/bad.go: var errX: ", early}},
		"pattern of an expression":    {"b/bad.go", `package b; import "regexp"; var x = regexp.MustCompile(<-make(chan string))`, []string{"b/bad.go: var x: ", early}},
		"value of a listed variable":  {"a/table.go", "package a; func f() int { return 0 }; var table = [2]int{f(), 2}", []string{"a/table.go: var table: ", early}},
		"conversion in a listed one":  {"a/table.go", "package a; type size int; var table = [2]size{size(1), 2}", nil},
		"another package errors":      {"b/bad.go", `package b; import errors "strings"; var errX = errors.New("x")`, []string{"b/bad.go: var errX: ", other}},
	})
}

func TestImportsSayWhereTheyGo(t *testing.T) {
	t.Parallel()
	requireWays(t, map[string]way{
		"blank":                       {"b/bad.go", `package b; import _ "fmt"`, []string{"b/bad.go: ", `"fmt"`, "no blank imports"}},
		"blank in a test":             {"b/good_test.go", `package b; import _ "fmt"`, nil},
		"blank beside a command":      {"b/bad.go", `package main; import _ "fmt"`, []string{"b/bad.go: ", `"fmt"`, "no blank imports"}},
		"blank below a command":       {"cmd/x/bad.go", `package x; import _ "fmt"`, []string{"cmd/x/bad.go: ", `"fmt"`, "no blank imports"}},
		"dot":                         {"b/bad.go", `package b; import . "fmt"`, []string{"b/bad.go: ", `"fmt"`, "no dot imports"}},
		"dot in a command":            {"cmd/x/bad.go", `package main; import . "fmt"`, []string{"cmd/x/bad.go: ", `"fmt"`, "no dot imports"}},
		"other name":                  {"b/good.go", `package b; import print "fmt"`, nil},
		"linked name":                 {"b/bad.go", "package b\n\n//go:linkname f runtime.f\nfunc f() {}", []string{"b/bad.go: ", "//go:linkname"}},
		"alias of another module":     {"a/bad.go", `package a; import "example.org/json/v2"; type Value = json.Value`, []string{"a/bad.go: alias Value of json.Value: ", "no exported alias"}},
		"alias within a type":         {"a/bad.go", `package a; import "example.org/json"; type Values = map[string]*json.Value`, []string{"a/bad.go: alias Values of json.Value: ", "no exported alias"}},
		"alias that nobody sees":      {"a/good.go", `package a; import "example.org/json"; type value = json.Value`, nil},
		"alias of the standard":       {"a/good.go", `package a; import "io"; type Reader = io.Reader`, nil},
		"alias of a public package":   {"a/good.go", `package a; import "example.com/house/b"; type T = b.T`, nil},
		"type of its own from theirs": {"a/good.go", `package a; import "example.org/json"; type Value struct{ inner json.Value }`, nil},
	})
}

func TestTheModuleIsGoAlone(t *testing.T) {
	t.Parallel()
	const alone = "this module is Go alone"
	requireWays(t, map[string]way{
		"assembly":                    {"b/bad_amd64.s", "", []string{"b/bad_amd64.s: ", alone}},
		"assembly with a big letter":  {"b/bad.S", "", []string{"b/bad.S: ", alone}},
		"C":                           {"b/bad.c", "", []string{"b/bad.c: ", alone}},
		"header":                      {"b/bad.h", "", []string{"b/bad.h: ", alone}},
		"object for the linker":       {"b/bad_linux.syso", "", []string{"b/bad_linux.syso: ", alone}},
		"object":                      {"b/bad.o", "", []string{"b/bad.o: ", alone}},
		"library":                     {"b/bad.a", "", []string{"b/bad.a: ", alone}},
		"at the root":                 {"bad.syso", "", []string{"bad.syso: ", alone}},
		"module":                      {"b/below/go.mod", "module x", []string{"b/below/go.mod: ", "only listed folders"}},
		"folder in place of a module": {"b/go.mod/x.txt", "", nil},
		"listed module":               {"later/go.mod", "module later", nil},
	})
}

func TestAFolderCalledGoModHidesNothing(t *testing.T) {
	t.Parallel()
	requireProblem(t, "e/go.mod/e.go", "package e", []string{"e/go.mod/e.go: ", "has no row"})
}

func TestPackageVariablesKeepTheirValue(t *testing.T) {
	t.Parallel()
	const (
		keeps    = "keeps what its declaration says"
		exported = "exported variables are errors or embedded files"
	)
	requireWays(t, map[string]way{
		"exported expression":         {"b/bad.go", `package b; import "regexp"; var State = regexp.MustCompile("x")`, []string{"b/bad.go: var State: ", exported}},
		"exported time":               {"b/bad.go", `package b; import "time"; var Zero = time.Date(1, 1, 1, 1, 1, 1, 1, time.UTC)`, []string{"b/bad.go: var Zero: ", exported}},
		"exported error":              {"b/good.go", `package b; import "errors"; var ErrY = errors.New("b: y")`, nil},
		"exported embedded files":     {"b/good.go", "package b\n\nimport \"embed\"\n\n//go:embed x\nvar Files embed.FS", nil},
		"embedded bytes":              {"b/bad.go", "package b\n\nimport _ \"embed\"\n\n//go:embed x\nvar data []byte", []string{"b/bad.go: var data: ", "bytes can be changed"}},
		"assignment":                  {"b/bad.go", "package b; func f() { word = nil }", []string{"b/bad.go: ", "assignment to package-level variable word", keeps}},
		"assignment with an operator": {"b/bad.go", `package b; func f() { text += "x" }`, []string{"b/bad.go: ", "assignment to package-level variable text", keeps}},
		"assignment through a star":   {"b/bad.go", "package b; func f() { *(word) = *word }", []string{"b/bad.go: ", "variable word"}},
		"one of several":              {"b/bad.go", "package b; func f() { var n int; n, word = 1, nil; _ = n }", []string{"b/bad.go: ", "variable word"}},
		"in a function's literal":     {"b/bad.go", "package b; func f() { go other(func() { word = nil }) }", []string{"b/bad.go: ", "variable word"}},
		"in a loop's head":            {"b/bad.go", "package b; func f() { for _, word = range unknown() {} }", []string{"b/bad.go: ", "variable word"}},
		"in another system's file":    {"b/bad_plan9.go", "//go:build plan9\n\npackage b\n\nfunc f() { word = nil }", []string{"b/bad_plan9.go: ", "variable word"}},
		"element":                     {"a/bad.go", "package a; func g() { table[1] = 2 }", []string{"a/bad.go: ", "assignment to package-level variable table"}},
		"increment":                   {"a/bad.go", "package a; func g() { table[1]++ }", []string{"a/bad.go: ", "variable table"}},
		"address":                     {"b/bad.go", "package b; func f() { p := &word; *p = nil }", []string{"b/bad.go: ", "address of package-level variable word", keeps}},
		"address of an element":       {"a/bad.go", "package a; func g() *int { return &table[1] }", []string{"a/bad.go: ", "address of package-level variable table"}},
		"address handed to a module":  {"b/bad.go", `package b; import "example.org/none/v3"; func f() { none.Set(none.T{P: &word}) }`, []string{"b/bad.go: ", "address of package-level variable word"}},
		"slice":                       {"a/bad.go", "package a; func g() []int { return table[:] }", []string{"a/bad.go: ", "slice of package-level variable table"}},
		"slice of a text":             {"b/good.go", "package b; func f() string { return text[1:] }", nil},
		"built-in":                    {"a/bad.go", "package a; func g() { clear(table) }", []string{"a/bad.go: ", "built-in that writes to package-level variable table"}},
		"method with a pointer":       {"a/table.go", "package a; type T struct{ n int }; func (t *T) Set() { t.n = 1 }; var table T; func g() { table.Set() }", []string{"a/table.go: ", "method Set of package-level variable table"}},
		"method without":              {"a/table.go", "package a; type T struct{ n int }; func (t T) Get() int { return t.n }; var table [1]T; func f() { table[0].n = table[0].Get() }", []string{"a/table.go: ", "assignment to"}},
		"method of a time":            {"b/bad.go", "package b; func f() { _ = zero.UnmarshalText(nil) }", []string{"b/bad.go: ", "method UnmarshalText of package-level variable zero"}},
		"method of an expression":     {"b/bad.go", "package b; func f() { word.Longest() }", []string{"b/bad.go: ", "method Longest of package-level variable word"}},
		"another package's":           {"a/bad.go", `package a; import "example.com/house/b"; func g() { b.ErrX = nil }`, []string{"a/bad.go: ", "assignment to package-level variable b.ErrX"}},
		"the standard library's":      {"b/bad.go", `package b; import "os"; func f() { os.Args[0] = "x" }`, []string{"b/bad.go: ", "assignment to package-level variable os.Args"}},
		"address of another's":        {"b/bad.go", `package b; import "os"; func f() any { return &os.Stdout }`, []string{"b/bad.go: ", "address of package-level variable os.Stdout"}},
		"of an unknown name":          {"a/bad.go", `package a; import "example.org/json/go-text"; func g() { text.State = 1 }`, []string{"a/bad.go: ", "variable text.State"}},
		"exception of another file":   {"a/more.go", `package a; import "os"; func g() { os.Args[1] = "" }`, []string{"a/more.go: ", "variable os.Args"}},
		"exception for another name":  {"a/args.go", `package a; import "os"; func g() { os.Args[1] = ""; os.Stdout = nil }`, []string{"a/args.go: ", "variable os.Stdout"}},
		"exception that is gone":      {"a/args.go", "package a", []string{"a/args.go: os.Args: ", "does not exist"}},
		"local of the same name":      {"b/good.go", "package b; func f(word []int) { word[0] = 1; { zero := 1; zero++; _ = &zero } }", nil},
		"local of an unknown type":    {"a/good.go", `package a; import x "example.org/json"; func f(t *x.T) { t.Field = 1; t.List[0].N++; _ = &t.Field; u := x.New(); u.Name = "" }`, nil},
		"address of a literal":        {"b/good.go", `package b; import "net/url"; func f() any { return &url.URL{} }`, nil},
		"field of the same name":      {"b/good.go", "package b; type T struct{ word int }; func f(t *T) *T { t.word = 1; return &T{word: 1} }", nil},
		"in a test":                   {"b/good_test.go", "package b; func f() { word = nil }", nil},
	})
}

func TestWhatIsForTestsIsUsedInTests(t *testing.T) {
	t.Parallel()
	const only = "may be used in tests only: it guards nothing"
	requireWays(t, map[string]way{
		"called":          {"cmd/x/bad.go", `package main; import "example.com/house/b"; func f() { b.Unguarded() }`, []string{"cmd/x/bad.go: use of Unguarded: ", only}},
		"under a name":    {"a/bad.go", `package a; import x "example.com/house/b"; func g() any { return x.Unguarded }`, []string{"a/bad.go: use of Unguarded: ", only}},
		"handed on":       {"b/bad.go", "package b; func Open() { Unguarded() }", []string{"b/bad.go: use of Unguarded: ", only}},
		"by its own file": {"b/build.go", "package b; func Unguarded() {}; func Open() { Unguarded() }", []string{"b/build.go: use of Unguarded: ", only}},
		"in a test":       {"a/good_test.go", `package a; import "example.com/house/b"; func g() { b.Unguarded() }`, nil},
		"another's":       {"c/good.go", "package c; func Unguarded() {}; func f() { Unguarded() }", nil},
		"renamed":         {"b/build.go", "package b; func Build() {}", []string{"b: Unguarded: ", "does not exist"}},
	})
}
