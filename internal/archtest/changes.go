package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// changes refuses what can give a package-level variable another value than its
// declaration does: an assignment, a built-in that writes, and an address, after
// which anything may happen.
func (c *checker) changes(u *unit, f sourceFile) {
	refuse := func(how string, e ast.Expr) {
		name := u.variable(e)
		if name == "" || c.excepted(tableChanges, c.plan.Changes, f.name+": "+name) {
			return
		}
		c.report(f.name, how+" package-level variable "+name, "a package-level variable keeps what its declaration says")
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, left := range n.Lhs {
					refuse("assignment to", left)
				}
			}
		case *ast.IncDecStmt:
			refuse("assignment to", n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				refuse("assignment to", n.Key)
				refuse("assignment to", n.Value)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				refuse("address of", n.X)
			}
		case *ast.SliceExpr:
			if u.isArray(n.X) {
				refuse("slice of", n.X)
			}
		case *ast.SelectorExpr:
			if u.takesAddress(n) {
				refuse("method "+n.Sel.Name+" of", n.X)
			}
		case *ast.CallExpr:
			if u.writes(n) {
				refuse("built-in that writes to", n.Args[0])
			}
		}
		return true
	})
}

// isArray tells an array, whose slice points into it.
func (u *unit) isArray(e ast.Expr) bool {
	t := u.info.TypeOf(e)
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Array)
	return ok
}

// takesAddress reports whether a method changes what it is called on: one with a
// pointer for its receiver, or one of those that expressions and points in time
// have.
func (u *unit) takesAddress(e *ast.SelectorExpr) bool {
	if s := u.info.Selections[e]; s != nil {
		signature, ok := s.Obj().Type().(*types.Signature)
		if !ok || s.Kind() != types.MethodVal || signature.Recv() == nil {
			return false
		}
		_, wantsPointer := signature.Recv().Type().(*types.Pointer)
		return wantsPointer
	}
	name := e.Sel.Name
	if base, ok := e.X.(*ast.Ident); ok && u.isImport(base) {
		return false // a function of a package
	}
	return strings.HasPrefix(name, "Unmarshal") || name == "GobDecode" || name == "Longest"
}

// writes tells the built-ins that change their first argument.
func (u *unit) writes(call *ast.CallExpr) bool {
	ident, ok := call.Fun.(*ast.Ident)
	if !ok || len(call.Args) == 0 {
		return false
	}
	if _, ok := u.object(ident).(*types.Builtin); !ok {
		return false
	}
	switch ident.Name {
	case "append", "clear", "copy", "delete":
		return true
	}
	return false
}
