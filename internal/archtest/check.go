package archtest

import (
	"bytes"
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

// Check reads the module whose root is fsys and returns every problem, in the
// order of the files. Folders named testdata, hidden ones and other modules are
// left out. The error is about reading and parsing only.
func Check(fsys fs.FS, plan *Plan) ([]Problem, error) {
	c := &checker{plan: plan, fsys: fsys, rows: map[string]*Row{}, usedVars: map[string]bool{}}
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
	c.unused()
	return c.problems, nil
}

type checker struct {
	plan     *Plan
	fsys     fs.FS
	rows     map[string]*Row
	noRow    map[string]bool
	usedVars map[string]bool
	problems []Problem
}

func (c *checker) report(file, what, rule string) {
	c.problems = append(c.problems, Problem{file, what, rule})
}

func (c *checker) visit(name string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if entry.IsDir() {
		return c.enter(name)
	}
	switch path.Ext(name) {
	case ".go":
		source, err := fs.ReadFile(c.fsys, name)
		if err != nil {
			return err
		}
		c.length(name, source)
		return c.file(name, source)
	case ".js":
		source, err := fs.ReadFile(c.fsys, name)
		if err != nil {
			return err
		}
		c.length(name, source)
	}
	return nil
}

// enter says whether a folder belongs to the module's code.
func (c *checker) enter(name string) error {
	if name == "." {
		return nil
	}
	base := path.Base(name)
	if base == "testdata" || base[0] == '.' || base[0] == '_' {
		return fs.SkipDir
	}
	if _, err := fs.Stat(c.fsys, path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// file checks one Go file, whatever its build constraints.
func (c *checker) file(name string, source []byte) error {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("archtest: %w", err)
	}
	c.packageName(name, parsed)
	c.imports(name, parsed)
	if !strings.HasSuffix(name, "_test.go") {
		c.declarations(name, parsed)
	}
	return nil
}

// packageName refuses names that say nothing about what is inside.
func (c *checker) packageName(name string, file *ast.File) {
	switch strings.TrimSuffix(file.Name.Name, "_test") {
	case "util", "utils", "common", "helper", "helpers", "types", "misc", "base", "shared", "lib":
		c.report(name, "package "+file.Name.Name, "a package is named after what it provides")
	}
}

// length counts the lines of a file that people write.
func (c *checker) length(name string, source []byte) {
	lines := bytes.Count(source, []byte("\n"))
	if _, ok := c.plan.LongFiles[name]; lines > MaxLines && !ok {
		c.report(name, fmt.Sprintf("%d lines", lines), fmt.Sprintf("a file has at most %d lines; split it by concept", MaxLines))
	} else if ok && lines <= MaxLines {
		c.report(name, fmt.Sprintf("%d lines", lines), "no longer needs its place among the long files")
	}
}

// unused reports exceptions that nothing needs any more.
func (c *checker) unused() {
	var names []string
	for name := range c.plan.Vars {
		if !c.usedVars[name] {
			names = append(names, name)
		}
	}
	for name := range c.plan.LongFiles {
		if _, err := fs.Stat(c.fsys, name); err != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		c.report(name, "exception", "is for something that does not exist")
	}
}
