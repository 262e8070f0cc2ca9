package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// aliases refuses exported names for types of other modules and of internal
// packages: whoever may not import those would reach them without an import.
func (c *checker) aliases(f sourceFile) {
	for _, decl := range f.ast.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			continue
		}
		for _, spec := range d.Specs {
			t := spec.(*ast.TypeSpec) // what a type declaration consists of
			if !t.Assign.IsValid() || !t.Name.IsExported() {
				continue
			}
			ast.Inspect(t.Type, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				base, ok := s.X.(*ast.Ident)
				if ok && c.isHidden(importPath(f.ast, base.Name)) {
					c.report(f.name, "alias "+t.Name.Name+" of "+base.Name+"."+s.Sel.Name, "no exported alias for a type of another module or of an internal package: it would pass where the import may not")
				}
				return true
			})
		}
	}
}

// isHidden tells the packages whose types stay where they are imported.
func (c *checker) isHidden(imported string) bool {
	below, own := strings.CutPrefix(imported, c.plan.Module+"/")
	if own {
		return slices.Contains(strings.Split(below, "/"), "internal")
	}
	return !isStandard(imported)
}

// importPath is what a name before a dot stands for in a file: the import that
// is called so, or else the one whose path ends with it.
func importPath(file *ast.File, name string) string {
	guess := ""
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		switch {
		case err != nil: // the parser refuses it
		case spec.Name != nil && spec.Name.Name == name:
			return imported
		case spec.Name == nil && guessName(imported) == name:
			guess = imported
		}
	}
	return guess
}

// guessName is how a package is most likely called: the last element of its
// path that is no version.
func guessName(imported string) string {
	name := path.Base(imported)
	if rest, ok := strings.CutPrefix(name, "v"); ok && rest != "" && strings.Trim(rest, "0123456789") == "" {
		name = path.Base(path.Dir(imported))
	}
	return name
}
