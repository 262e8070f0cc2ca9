package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// imports checks what a file imports against the package's row and against what
// no row can allow.
func (c *checker) imports(name string, file *ast.File) {
	pkg := path.Dir(name)
	row := c.rows[pkg]
	if row == nil {
		if !c.noRow[pkg] { // once for a package
			c.noRow[pkg] = true
			c.report(name, "package "+pkg, "has no row that says what it may import")
		}
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser refuses it
		}
		what := fmt.Sprintf("import of %q", imported)
		switch {
		case imported == "C":
			if _, ok := c.plan.Cgo[name]; !ok {
				c.report(name, what, "no cgo but in the files that the plan names")
			}
			continue
		case imported == "unsafe" && !strings.HasSuffix(name, "_unsafe.go"):
			c.report(name, what, "unsafe code is in files named *_unsafe.go, where a review looks for it")
			continue
		}
		if rule := refusedForm(name, file, spec, imported); rule != "" {
			c.report(name, what, rule)
		}
		if rule := c.banned(pkg, imported, isTest(name)); rule != "" {
			c.report(name, what, rule)
		} else if row != nil {
			if rule := c.notInRow(row, imported, isTest(name)); rule != "" {
				c.report(name, what, rule)
			}
		}
	}
}

// refusedForm says what is wrong with the name that an import is given, or "".
func refusedForm(name string, file *ast.File, spec *ast.ImportSpec, imported string) string {
	if spec.Name == nil || isTest(name) {
		return ""
	}
	isCommand := file.Name.Name == "main" && matches("cmd/...", path.Dir(name))
	switch {
	case spec.Name.Name == ".":
		return "no dot imports: a name says where it comes from"
	case spec.Name.Name == "_" && imported != "embed" && !isCommand:
		return "no blank imports but of embed, in a command's main package and in tests: nothing happens because a package is linked in"
	}
	return ""
}

// banned says which rule forbids an import whatever the rows say, or "".
func (c *checker) banned(pkg, imported string, inTest bool) string {
	for i := range c.plan.Never {
		n := &c.plan.Never[i]
		pattern := n.Import
		if below, ok := strings.CutPrefix(pattern, "~/"); ok {
			pattern = c.plan.Module + "/" + below
		}
		switch {
		case inTest && !n.AndTests,
			!matches(n.From, pkg),
			!matches(pattern, imported),
			imported == c.plan.Module+"/"+pkg, // a test outside its own package
			slices.ContainsFunc(n.Except, func(e string) bool { return matches(e, pkg) }):
			continue
		}
		return "must not be imported: " + n.Because
	}
	return ""
}

// notInRow says that the row does not list an import, or "".
func (c *checker) notInRow(row *Row, imported string, inTest bool) string {
	own, ok := strings.CutPrefix(imported, c.plan.Module+"/")
	switch {
	case ok:
		allowed := row.Own
		if inTest {
			allowed = slices.Concat(row.Own, row.TestOwn, []string{row.Package})
		}
		if !slices.Contains(allowed, own) {
			return fmt.Sprintf("package %s may import of this module only [%s]", row.Package, strings.Join(allowed, " "))
		}
	case isStandard(imported):
	default:
		allowed := row.Modules
		if inTest {
			allowed = slices.Concat(row.Modules, row.TestModules, c.plan.Tests)
		}
		inModule := func(module string) bool { return matches(module+"/...", imported) }
		if !slices.ContainsFunc(allowed, inModule) {
			return fmt.Sprintf("package %s may import of other modules only [%s]", row.Package, strings.Join(allowed, " "))
		}
	}
	return ""
}

// isStandard tells the standard library, whose first element is no host name.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// matches is a path's match with a pattern: the path itself, or with "/..." also
// all below it, or "..." for every path.
func matches(pattern, name string) bool {
	if pattern == "..." {
		return true
	}
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == root || strings.HasPrefix(name, root+"/")
	}
	return name == pattern
}
