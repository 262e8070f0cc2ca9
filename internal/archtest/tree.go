package archtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

func (c *checker) visit(name string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if entry.IsDir() {
		return c.enter(name)
	}
	extension := strings.ToLower(path.Ext(name))
	switch extension {
	case ".go", ".js":
		source, err := fs.ReadFile(c.fsys, name)
		if err != nil {
			return err
		}
		c.length(name, source)
		if extension == ".go" {
			return c.file(name, source)
		}
	// What the Go command compiles or links besides Go, and what a linker takes.
	case ".s", ".sx", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".m", ".f", ".for", ".f90",
		".swig", ".swigcxx", ".syso", ".o", ".obj", ".a", ".so", ".dylib", ".dll":
		c.report(name, "file of type "+extension, "this module is Go alone: no assembly, no C, nothing that was compiled elsewhere")
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
	modFile := path.Join(name, "go.mod")
	info, err := fs.Stat(c.fsys, modFile)
	if err != nil || info.IsDir() { // a folder called go.mod makes no module
		return nil
	}
	if c.plan.Modules[name] == "" {
		c.report(modFile, "module of its own", "what is in another module escapes these rules; only listed folders may be one")
	}
	return fs.SkipDir
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
