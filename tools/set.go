package tools

import (
	"encoding/json"
	"fmt"
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
	kind    kind
	handler Handler
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
// handler. Schemas are copied.
func NewSet(tools ...Tool) (*Set, error) { panic("not there yet") }

// Only returns the set of the tools with these names. A name that is not in the
// set is a [*GrantError].
func (s *Set) Only(names ...string) (*Set, error) { panic("not there yet") }

// With returns the union of two sets. A tool that is in both, or a name that is
// the beginning of another, is a [*GrantError].
func (s *Set) With(other *Set) (*Set, error) { panic("not there yet") }

// Names returns the names of all tools, sorted: what the backend is told to
// give the script.
func (s *Set) Names() []string { panic("not there yet") }

// Empty reports whether the set grants nothing.
func (s *Set) Empty() bool { return s == nil || len(s.names) == 0 }

// Tool says what is known about a tool of the set.
func (s *Set) Tool(name string) (Info, bool) { panic("not there yet") }

// Declarations describes the set in TypeScript, to put before a model. It is the
// same for the same tools. See the package documentation of what it leaves out.
func (s *Set) Declarations() string { panic("not there yet") }

// Manifest is what a suspended script was granted, to be kept with it: a list
// that is sorted by name.
type Manifest []ManifestTool

// ManifestTool is one tool of a [Manifest].
type ManifestTool struct {
	Name string `json:"name"`
	// InputSHA256 and OutputSHA256 are the hashes of the schemas in hex, without
	// regard to white space and the order of members; empty where there is none.
	InputSHA256  string `json:"inputSHA256,omitempty"`
	OutputSHA256 string `json:"outputSHA256,omitempty"`
	// Remote is the whole of a tool that was made by [Remote], and nil for others.
	Remote *RemoteTool `json:"remote,omitempty"`
}

// RemoteTool is what [Remote] was called with, but for the name.
type RemoteTool struct {
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"inputSchema,omitempty"`
}

// MismatchError says which tool of a manifest a set has not, or has otherwise.
type MismatchError struct {
	Tool string
	// Problem is what is wrong, in words that follow the name.
	Problem string
}

// Error returns one line with the name and the problem.
func (e *MismatchError) Error() string { return fmt.Sprintf("tools: %.128q %s", e.Tool, e.Problem) }

// Manifest returns what the set grants.
func (s *Set) Manifest() Manifest { panic("not there yet") }

// Matches returns nil where the set has every tool of the manifest, with the same
// schemas, and the [*MismatchError] of the first otherwise. It may have more.
func (s *Set) Matches(m Manifest) error { panic("not there yet") }

// FromManifest makes a set of the remote tools of a manifest; the others have
// handlers, and are left out.
func FromManifest(m Manifest) (*Set, error) { panic("not there yet") }
