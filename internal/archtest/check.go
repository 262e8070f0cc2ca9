package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Problem is one thing that breaks a rule.
type Problem struct {
	// File is the path of the file, or of the folder where a package as a whole
	// is at fault.
	File string
	// What is the import, the declaration or the property at fault.
	What string
	// Rule says what is demanded.
	Rule string
}

func (p Problem) String() string { return p.File + ": " + p.What + ": " + p.Rule }

// Check reads the module whose root is fsys and returns every problem, ordered
// by file. Folders named testdata, hidden ones and other modules are left out.
// The error is about reading and parsing only.
func Check(fsys fs.FS, plan *Plan) ([]Problem, error) {
	c := &checker{
		plan: plan, fsys: fsys, fset: token.NewFileSet(),
		rows: map[string]*Row{}, noRow: map[string]bool{}, units: map[unitKey]*unit{}, used: map[exception]bool{},
	}
	for i := range plan.Rows {
		row := &plan.Rows[i]
		if c.rows[row.Package] != nil {
			c.report(row.Package, "row", "a package has one row")
		}
		c.rows[row.Package] = row
	}
	if err := fs.WalkDir(fsys, ".", c.visit); err != nil {
		return nil, err
	}
	for _, u := range c.units {
		c.unit(u)
	}
	c.unused()
	slices.SortStableFunc(c.problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.What, b.What))
	})
	return c.problems, nil
}

type checker struct {
	plan     *Plan
	fsys     fs.FS
	fset     *token.FileSet
	rows     map[string]*Row
	noRow    map[string]bool // folders that were reported for it
	units    map[unitKey]*unit
	used     map[exception]bool
	problems []Problem
}

// exception is an entry of one of the plan's tables.
type exception struct{ table, key string }

const (
	tableVars     = "Vars"
	tableChanges  = "Changes"
	tableTestOnly = "TestOnly"
)

// excepted reports whether a table has the key, and remembers that the entry is
// of use.
func (c *checker) excepted(table string, entries map[string]string, key string) bool {
	c.used[exception{table, key}] = true
	return entries[key] != ""
}

func (c *checker) report(file, what, rule string) {
	c.problems = append(c.problems, Problem{file, what, rule})
}

// file checks one Go file, whatever its build constraints, and keeps it for the
// rules that need the whole package.
func (c *checker) file(name string, source []byte) error {
	parsed, err := parser.ParseFile(c.fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("archtest: %w", err)
	}
	c.packageName(name, parsed)
	c.imports(name, parsed)
	if isTest(name) {
		return nil
	}
	key := unitKey{path.Dir(name), parsed.Name.Name}
	if c.units[key] == nil {
		c.units[key] = &unit{folder: key.folder}
	}
	c.units[key].files = append(c.units[key].files, sourceFile{name, parsed})
	return nil
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

// unit checks what takes a whole package to see.
func (c *checker) unit(u *unit) {
	u.resolve(c.fset)
	for _, f := range u.files {
		c.declarations(u, f)
		c.changes(u, f)
		c.testOnly(u, f)
		c.aliases(f)
	}
}

// packageName refuses names that say nothing about what is inside.
func (c *checker) packageName(name string, file *ast.File) {
	switch strings.TrimSuffix(file.Name.Name, "_test") {
	case "util", "utils", "common", "helper", "helpers", "types", "misc", "base", "shared", "lib":
		c.report(name, "package "+file.Name.Name, "a package is named after what it provides")
	}
}

// unused reports exceptions that nothing needs any more.
func (c *checker) unused() {
	report := func(file string) { c.report(file, "exception", "is for something that does not exist") }
	for key := range c.plan.Vars {
		if !c.used[exception{tableVars, key}] {
			report(key)
		}
	}
	for key := range c.plan.Changes {
		if !c.used[exception{tableChanges, key}] {
			report(key)
		}
	}
	for _, files := range []map[string]string{c.plan.LongFiles, c.plan.Cgo} {
		for name := range files {
			if _, err := fs.Stat(c.fsys, name); err != nil {
				report(name)
			}
		}
	}
	for _, only := range c.plan.TestOnly {
		if !c.used[exception{tableTestOnly, only.key()}] {
			report(only.key())
		}
	}
}
