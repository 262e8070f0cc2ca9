package archtest

import (
	"go/ast"
	"go/token"
	"strings"
)

// declarations checks what a file declares for its whole package. Nothing may
// happen because a package is linked in, and nothing may be changed behind
// another caller's back.
func (c *checker) declarations(u *unit, f sourceFile) {
	for _, decl := range f.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				c.report(f.name, "func init", "a package does nothing by being imported")
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				v := spec.(*ast.ValueSpec) // what a var declaration consists of
				embedded := isEmbed(d.Doc) || isEmbed(v.Doc)
				for i := range v.Names {
					c.variable(u, f, v, i, embedded)
				}
			}
		}
	}
	for _, group := range f.ast.Comments {
		for _, line := range group.List {
			if strings.HasPrefix(line.Text, "//go:linkname ") {
				c.report(f.name, "//go:linkname", "a package uses of another what it exports")
			}
		}
	}
}

// variable checks the i-th variable of a declaration.
func (c *checker) variable(u *unit, f sourceFile, v *ast.ValueSpec, i int, embedded bool) {
	name, value := v.Names[i].Name, ast.Expr(nil)
	if i < len(v.Values) {
		value = v.Values[i]
	}
	what := "var " + name
	kind := constantKind(f.ast, name, value)
	if embedded && value == nil {
		kind = kindEmbedded
	}
	switch {
	case name == "_":
		if v.Type == nil || !u.isAssertion(value) {
			c.report(f.name, what, "a blank variable only asserts an interface: var _ I = (*T)(nil), T{} or (T)(nil)")
		}
		return
	case kind == kindOther || kind == kindEmbedded && isBytes(v.Type) || kind == kindFixed && ast.IsExported(name):
		if !c.excepted(tableVars, c.plan.Vars, f.name+": "+name) {
			c.report(f.name, what, ruleFor(kind))
		}
	}
	if u.runs(constantArguments(kind, value)...) {
		c.report(f.name, what, "nothing runs before main: no call in what a variable starts with")
	}
}

// varKind is what makes a package-level variable harmless.
type varKind int

const (
	kindOther    varKind = iota
	kindError            // made by errors.New and named like an error
	kindFixed            // an expression or a point in time
	kindEmbedded         // filled by the compiler
)

func ruleFor(kind varKind) string {
	switch kind {
	case kindFixed:
		return "exported variables are errors or embedded files; whatever else others need comes from a function"
	case kindEmbedded:
		return "files are embedded as a string or an embed.FS: bytes can be changed"
	}
	return "a package has no variables but errors, embedded files, assertions of an interface, compiled expressions and points in time"
}

// isEmbed reports whether a comment tells the compiler to embed files.
func isEmbed(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, line := range doc.List {
		if strings.HasPrefix(line.Text, "//go:embed ") {
			return true
		}
	}
	return false
}

func isBytes(e ast.Expr) bool {
	_, ok := e.(*ast.ArrayType)
	return ok
}

// constantKind tells what Go has no constants for and nobody can change: an
// error, an expression, a point in time. An error is named like one, so that
// errors.Is reads well.
func constantKind(file *ast.File, name string, value ast.Expr) varKind {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return kindOther
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return kindOther
	}
	pkg, ok := fun.X.(*ast.Ident)
	if !ok {
		return kindOther
	}
	switch importPath(file, pkg.Name) + "." + fun.Sel.Name { // another package may be called errors
	case "errors.New":
		if strings.HasPrefix(name, "Err") || strings.HasPrefix(name, "err") {
			return kindError
		}
	case "regexp.MustCompile", "time.Date":
		return kindFixed
	}
	return kindOther
}

// constantArguments is the part of a value that must not call anything: all of
// it, but for the one call that makes an error or another fixed value.
func constantArguments(kind varKind, value ast.Expr) []ast.Expr {
	if call, ok := value.(*ast.CallExpr); ok && kind != kindOther {
		return call.Args
	}
	return []ast.Expr{value}
}

// runs reports whether evaluating an expression can do anything: it calls or
// receives. A function that is not called may hold what it likes.
func (u *unit) runs(expressions ...ast.Expr) bool {
	found := false
	for _, e := range expressions {
		if e == nil {
			continue
		}
		ast.Inspect(e, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.CallExpr:
				found = found || !u.info.Types[n.Fun].IsType()
			case *ast.UnaryExpr:
				found = found || n.Op == token.ARROW
			}
			return !found
		})
	}
	return found
}

// isAssertion tells (*T)(nil), T{} and (T)(nil). The last looks like a call of
// a function T, so there T must be a type of this package.
func (u *unit) isAssertion(value ast.Expr) bool {
	switch e := value.(type) {
	case *ast.CompositeLit:
		return len(e.Elts) == 0
	case *ast.CallExpr:
		paren, ok := e.Fun.(*ast.ParenExpr)
		if !ok || len(e.Args) != 1 {
			return false
		}
		if arg, ok := e.Args[0].(*ast.Ident); !ok || arg.Name != "nil" {
			return false
		}
		if star, ok := paren.X.(*ast.StarExpr); ok {
			return !u.runs(star.X) && (u.variable(star.X) == "" || u.isForeign(star.X))
		}
		return u.info.Types[paren.X].IsType()
	}
	return false
}

// isForeign tells other.T.
func (u *unit) isForeign(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	base, ok := s.X.(*ast.Ident)
	return ok && u.isImport(base)
}
