package archtest

import (
	"go/ast"
	"strconv"
)

// testOnly refuses a function that is for tests wherever else its name stands:
// in its own package, and in files that import it. What hands it on under
// another name has to name it first.
func (c *checker) testOnly(u *unit, f sourceFile) {
	for _, only := range c.plan.TestOnly {
		at := c.plan.Module + "/" + only.Package
		if u.folder != only.Package && !importsPath(f.ast, at) {
			continue
		}
		var declared *ast.Ident
		if u.folder == only.Package {
			declared = functionName(f.ast, only.Name)
		}
		if declared != nil {
			c.used[exception{tableTestOnly, only.key()}] = true
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if ident, ok := n.(*ast.Ident); ok && ident.Name == only.Name && ident != declared {
				c.report(f.name, "use of "+only.Name, "may be used in tests only: "+only.Because)
			}
			return true
		})
	}
}

// functionName is the name in a function's declaration, or nil.
func functionName(file *ast.File, name string) *ast.Ident {
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.Name == name {
			return d.Name
		}
	}
	return nil
}

func importsPath(file *ast.File, path string) bool {
	for _, spec := range file.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err == nil && imported == path {
			return true
		}
	}
	return false
}
