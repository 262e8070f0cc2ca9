package archtest

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
)

// unitKey tells packages apart: a folder may also hold a file that the build
// ignores and that has a package of its own.
type unitKey struct{ folder, name string }

// unit is a package without its tests, all systems' files together.
type unit struct {
	folder string
	files  []sourceFile
	info   types.Info
	scope  *types.Scope
	vars   map[string]bool // names of package-level variables
}

type sourceFile struct {
	name string
	ast  *ast.File
}

// resolve finds what each identifier means. Imports are not followed and files
// that exclude each other are taken together, so the errors say nothing; what
// stays unresolved is told by its name.
func (u *unit) resolve(fset *token.FileSet) {
	u.vars = map[string]bool{}
	files := make([]*ast.File, 0, len(u.files))
	for _, f := range u.files {
		files = append(files, f.ast)
		for _, decl := range f.ast.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
				for _, spec := range d.Specs {
					for _, ident := range spec.(*ast.ValueSpec).Names { // what a var declaration consists of
						u.vars[ident.Name] = true
					}
				}
			}
		}
	}
	delete(u.vars, "_")
	u.info = types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	config := types.Config{Error: func(error) {}, Importer: noImports{}}
	pkg, _ := config.Check(u.folder, fset, files, &u.info)
	u.scope = pkg.Scope()
}

// noImports makes the type checker go on with packages of which it knows only
// the names.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) {
	return nil, errors.New("archtest: imports are not followed")
}

// variable names the package-level variable in which a path like x[1].y or
// other.X.y begins: "x" or "other.X". It is "" for anything else.
func (u *unit) variable(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return u.variable(e.X)
	case *ast.StarExpr:
		return u.variable(e.X)
	case *ast.IndexExpr:
		return u.variable(e.X)
	case *ast.SliceExpr:
		return u.variable(e.X)
	case *ast.TypeAssertExpr:
		return u.variable(e.X)
	case *ast.SelectorExpr:
		if base, ok := e.X.(*ast.Ident); ok && u.isImport(base) {
			return base.Name + "." + e.Sel.Name
		}
		return u.variable(e.X)
	case *ast.Ident:
		object := u.object(e)
		if u.vars[e.Name] && (object == nil || object.Parent() == u.scope) {
			return e.Name
		}
	}
	return ""
}

// isImport reports whether the part before a dot is a package. Packages whose
// name is not the end of their path stay unresolved.
func (u *unit) isImport(ident *ast.Ident) bool {
	switch u.object(ident).(type) {
	case *types.PkgName:
		return true
	case nil:
		return !u.vars[ident.Name]
	}
	return false
}

func (u *unit) object(ident *ast.Ident) types.Object {
	if object := u.info.Uses[ident]; object != nil {
		return object
	}
	return u.info.Defs[ident]
}
