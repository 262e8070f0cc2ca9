package archtest

import (
	"go/ast"
	"go/token"
	"strings"
)

// declarations checks what a file declares for its whole package. Nothing may
// happen because a package is linked in, and nothing may be changed behind
// another caller's back.
func (c *checker) declarations(name string, file *ast.File) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				c.report(name, "func init", "a package does nothing by being imported")
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				c.vars(name, d)
			}
		}
	}
}

func (c *checker) vars(name string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec) // what a var declaration consists of
		embedded := isEmbed(d.Doc) || isEmbed(v.Doc)
		for i, ident := range v.Names {
			var value ast.Expr
			if i < len(v.Values) {
				value = v.Values[i]
			}
			if ident.Name == "_" || embedded && value == nil || isConstantLike(ident.Name, value) {
				continue
			}
			key := name + ": " + ident.Name
			c.usedVars[key] = true
			if c.plan.Vars[key] == "" {
				c.report(name, "var "+ident.Name, "a package has no variables but errors, embedded files, assertions of an interface, compiled expressions and points in time")
			}
		}
	}
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

// isConstantLike reports whether a variable holds what Go has no constants for
// and nobody can change: an error, an expression, a point in time. An error is
// named like one, so that errors.Is reads well.
func isConstantLike(name string, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := fun.X.(*ast.Ident)
	if !ok {
		return false
	}
	switch pkg.Name + "." + fun.Sel.Name {
	case "errors.New":
		return strings.HasPrefix(name, "Err") || strings.HasPrefix(name, "err")
	case "regexp.MustCompile", "time.Date":
		return true
	}
	return false
}
