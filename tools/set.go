package tools

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/taint"
)

// MaxTools bounds the tools of a [Set].
const MaxTools = 128

// Set is what a script is granted. A nil Set grants nothing. Make one with
// [NewSet].
type Set struct {
	tools map[string]*granted
	names []string // sorted
}

// granted is a tool of a set.
type granted struct {
	Info
	kind    toolKind
	handler Handler
	input   *schema // nil: any object
	output  *schema // nil: anything
}

// GrantError says why a tool cannot be granted.
type GrantError struct {
	// Tool is the name, as it was given.
	Tool string
	// Problem is what is wrong, in words that follow the name.
	Problem string
	// Err is the cause, or nil.
	Err error
}

// Error returns one line with the name, the problem and the cause.
func (e *GrantError) Error() string {
	text := fmt.Sprintf("tools: %.40q %s", e.Tool, e.Problem)
	if e.Err != nil {
		text += ": " + oneLine(e.Err.Error())
	}
	return text
}

// Unwrap returns the cause.
func (e *GrantError) Unwrap() error { return e.Err }

// NewSet makes a set of tools. What cannot be granted is a [*GrantError]: a name
// that is not allowed, is there twice, or is the beginning of another ("crm" and
// "crm.lookup"); a schema that is none or leads elsewhere; a bad origin; no
// handler; or a schema of a [Remote] tool of which a check may take long: see the
// package documentation. Schemas are copied.
func NewSet(tools ...Tool) (*Set, error) {
	all := make([]*granted, 0, min(len(tools), MaxTools))
	remote := 0
	for i := range tools {
		if i == MaxTools {
			break // assemble says so
		}
		if tools[i].kind == kindRemote {
			remote += len(tools[i].Input) + len(tools[i].Output)
		}
		if remote > MaxRemoteSchemasBytes {
			return nil, &GrantError{Tool: tools[i].Name, Problem: fmt.Sprintf("and the remote tools before it have schemas of more than %d bytes", MaxRemoteSchemasBytes)}
		}
		g, err := grant(&tools[i])
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return assemble(all, len(tools))
}

// assemble makes a set of what can be granted, one by one; n is how many there are.
func assemble(all []*granted, n int) (*Set, error) {
	if n > MaxTools {
		return nil, &GrantError{Problem: fmt.Sprintf("and others are %d tools; a set has at most %d", n, MaxTools), Tool: all[0].Name}
	}
	s := &Set{tools: make(map[string]*granted, len(all))}
	for _, g := range all {
		if s.tools[g.Name] != nil {
			return nil, &GrantError{Tool: g.Name, Problem: "is there twice"}
		}
		s.tools[g.Name] = g
	}
	s.names = slices.Sorted(maps.Keys(s.tools))
	for _, name := range s.names {
		for i, c := range []byte(name) {
			if c == '.' && s.tools[name[:i]] != nil {
				return nil, &GrantError{Tool: name[:i], Problem: "is a tool and also the beginning of the name of another"}
			}
		}
	}
	return s, nil
}

// grant checks a tool and fills in its defaults.
func grant(t *Tool) (*granted, error) {
	if t.kind == kindFetch && t.Name != fetchName {
		return nil, &GrantError{Tool: t.Name, Problem: "is made by Fetch; such a tool keeps the name fetch"}
	}
	if t.kind != kindFetch {
		if err := CheckName(t.Name); err != nil {
			return nil, err
		}
	}
	bad := func(problem string, err error) (*granted, error) {
		return nil, &GrantError{Tool: t.Name, Problem: problem, Err: err}
	}
	g := &granted{kind: t.kind, handler: t.Handler, Info: Info{
		Name: t.Name, Description: t.Description, Input: bytes.Clone(t.Input), Output: bytes.Clone(t.Output),
		Origin: t.Origin, Timeout: t.Timeout, MaxCalls: t.MaxCalls, MaxResultBytes: t.MaxResultBytes,
		Idempotent: t.Idempotent, Remote: t.kind == kindRemote,
	}}
	switch {
	case len(t.Description) > MaxDescriptionBytes || !utf8.ValidString(t.Description):
		return bad(fmt.Sprintf("has a description that is not allowed; it is at most %d bytes of UTF-8", MaxDescriptionBytes), nil)
	case t.Timeout < 0 || t.Timeout > MaxTimeout:
		return bad(fmt.Sprintf("has a timeout that is not allowed; it is at most %v, and zero means %v", MaxTimeout, DefaultTimeout), nil)
	case t.MaxCalls < 0:
		return bad("has a bound of calls below zero; zero means no bound", nil)
	case t.MaxResultBytes < 0 || t.MaxResultBytes > MaxResultBytes:
		return bad(fmt.Sprintf("has a bound of results that is not allowed; it is at most %d bytes, and zero means %d", MaxResultBytes, DefaultResultBytes), nil)
	case t.kind == kindRemote && t.Handler != nil:
		return bad("is remote and has a handler; it is one or the other", nil)
	case t.kind != kindRemote && t.Handler == nil:
		return bad("has no handler", nil)
	}
	if g.Timeout == 0 {
		g.Timeout = DefaultTimeout
	}
	if g.MaxResultBytes == 0 {
		g.MaxResultBytes = DefaultResultBytes
	}
	if g.Origin == "" {
		g.Origin = "tool:" + t.Name
	}
	if err := taint.CheckOrigin(g.Origin); err != nil {
		return bad("has an origin that is not allowed", err)
	}
	// With these, a label would not tell results from what the script says itself.
	if parts, more := taint.Origins(g.Origin); more > 0 || slices.Contains(parts, taint.OriginSandbox) {
		return bad(fmt.Sprintf("has an origin that is not allowed; it is neither %q nor one with \"+N more\" in it", taint.OriginSandbox), nil)
	}
	if t.DangerouslyTrustResults {
		g.Origin = ""
	}
	var err error
	if g.input, err = compileInput(g.Input, g.Remote); err != nil {
		return bad("has an input schema that cannot be used", err)
	}
	if g.output, err = compile(g.Output, g.Remote); err != nil {
		return bad("has an output schema that cannot be used", err)
	}
	return g, nil
}

// Only returns the set of the tools with these names. A name that is not in the
// set is a [*GrantError].
func (s *Set) Only(names ...string) (*Set, error) {
	all := make([]*granted, 0, len(names))
	for _, name := range names {
		g := s.find(name)
		if g == nil {
			return nil, &GrantError{Tool: name, Problem: "is not in the set; it has " + s.list()}
		}
		all = append(all, g)
	}
	return assemble(all, len(all))
}

// With returns the union of two sets. A tool that is in both, or a name that is
// the beginning of another, is a [*GrantError].
func (s *Set) With(other *Set) (*Set, error) {
	var all []*granted
	for _, each := range []*Set{s, other} {
		for _, name := range each.Names() {
			all = append(all, each.tools[name])
		}
	}
	return assemble(all, len(all))
}

// Names returns the names of all tools, sorted: what the backend is told to
// give the script.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return slices.Clone(s.names)
}

// Empty reports whether the set grants nothing.
func (s *Set) Empty() bool { return s == nil || len(s.names) == 0 }

// Tool says what is known about a tool of the set.
func (s *Set) Tool(name string) (Info, bool) {
	if g := s.find(name); g != nil {
		return g.Info, true
	}
	return Info{}, false
}

func (s *Set) find(name string) *granted {
	if s == nil {
		return nil
	}
	return s.tools[name]
}

// list is what the set has, for a message.
func (s *Set) list() string {
	if s.Empty() {
		return "nothing"
	}
	return cut(strings.Join(s.names, ", "), MaxMessageBytes)
}
