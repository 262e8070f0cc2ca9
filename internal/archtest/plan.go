package archtest

// Plan says what a module may look like.
type Plan struct {
	// Module is the module's path.
	Module string
	// Rows are the packages, one each.
	Rows []Row
	// Tests are modules that every test may import.
	Tests []string
	// Never are imports that no row can allow.
	Never []Never
	// Modules are the folders that may be modules of their own, each with the
	// reason. A folder need not exist yet.
	Modules map[string]string
	// Vars are the package-level variables that are no errors, embedded files,
	// assertions or values that cannot change, by "file: name", each with the
	// reason why it may stay.
	Vars map[string]string
	// Changes are the files that may assign to a package-level variable or take
	// its address, by "file: name", or "file: package.name" for a variable of
	// another package, each with the reason.
	Changes map[string]string
	// TestOnly are functions for tests alone.
	TestOnly []TestOnly
	// LongFiles are the files that may exceed MaxLines, each with the reason.
	LongFiles map[string]string
	// Cgo are the files that may call C, each with the reason.
	Cgo map[string]string
}

// MaxLines is how long a file may be.
const MaxLines = 400

// Row is one package and what it may import besides the standard library. Its
// tests may import all that and what is in the Test fields. A package need not
// exist yet.
type Row struct {
	// Package is the path below the module, "." for its root.
	Package string
	// Own are packages of the module, Modules those of others.
	Own, Modules []string
	// TestOwn and TestModules are for tests only.
	TestOwn, TestModules []string
}

// Never says which imports are wrong whatever the rows say, so that a row
// cannot be widened by mistake.
type Never struct {
	// From and Import are patterns: a path, or a path with "/..." for it and all
	// below it. From is below the module, or "..." for all; Import is a path as
	// it is imported, with "~/" for the module.
	From, Import string
	// Except are patterns like From to which the rule does not apply.
	Except []string
	// AndTests is whether tests are bound too.
	AndTests bool
	// Because completes the sentence "… must not be imported: ".
	Because string
}

// TestOnly is an exported function that only tests may name.
type TestOnly struct {
	// Package is the path below the module, Name the function.
	Package, Name string
	// Because completes the sentence "… may be used in tests only: ".
	Because string
}

func (o TestOnly) key() string { return o.Package + ": " + o.Name }
