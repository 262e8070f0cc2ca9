package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

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

// RemoteTool is what makes a tool that was made by [Remote], but for the name. That
// its results are trusted is not kept: whoever made it says so again.
type RemoteTool struct {
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"inputSchema,omitempty"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
	// Origin, MaxCalls, MaxResultBytes and Idempotent are those of the [Tool]; zero
	// where they are the defaults.
	Origin         string `json:"origin,omitempty"`
	MaxCalls       int64  `json:"maxCalls,omitempty"`
	MaxResultBytes int64  `json:"maxResultBytes,omitempty"`
	Idempotent     bool   `json:"idempotent,omitempty"`
}

// remoteTool is what a manifest has of g.
func (g *granted) remoteTool() *RemoteTool {
	r := &RemoteTool{
		Description: g.Description, Input: bytes.Clone(g.Input), Output: bytes.Clone(g.Output),
		MaxCalls: g.MaxCalls, Idempotent: g.Idempotent,
	}
	if g.Origin != "tool:"+g.Name {
		r.Origin = g.Origin
	}
	if g.MaxResultBytes != DefaultResultBytes {
		r.MaxResultBytes = g.MaxResultBytes
	}
	return r
}

// tool is the reverse.
func (r *RemoteTool) tool(name string) Tool {
	t := Remote(name, r.Description, r.Input)
	t.Output, t.Origin = r.Output, r.Origin
	t.MaxCalls, t.MaxResultBytes, t.Idempotent = r.MaxCalls, r.MaxResultBytes, r.Idempotent
	return t
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
func (s *Set) Manifest() Manifest {
	m := make(Manifest, 0, len(s.Names()))
	for _, name := range s.Names() {
		g := s.tools[name]
		entry := ManifestTool{Name: name}
		if g.Remote {
			entry.Remote = g.remoteTool()
		} else {
			entry.InputSHA256, entry.OutputSHA256 = hashOf(g.Input), hashOf(g.Output)
		}
		m = append(m, entry)
	}
	return m
}

// Matches returns nil where the set has every tool of the manifest, with the same
// schemas, and the [*MismatchError] of the first otherwise. It may have more, and
// descriptions may differ.
func (s *Set) Matches(m Manifest) error {
	for _, want := range m {
		g := s.find(want.Name)
		problem := ""
		input, output := want.InputSHA256, want.OutputSHA256
		if want.Remote != nil {
			input, output = hashOf(want.Remote.Input), hashOf(want.Remote.Output)
		}
		switch {
		case g == nil:
			problem = "is missing"
		case g.Remote && want.Remote == nil:
			problem = "is remote, and was not"
		case !g.Remote && want.Remote != nil:
			problem = "is not remote, and was"
		case hashOf(g.Input) != input:
			problem = "has another input schema"
		case hashOf(g.Output) != output:
			problem = "has another output schema"
		default:
			continue
		}
		return &MismatchError{Tool: want.Name, Problem: problem}
	}
	return nil
}

// FromManifest makes a set of the remote tools of a manifest; the others have
// handlers, and are left out. The error is a [*GrantError], also where a schema is
// not one that [Remote] may have.
func FromManifest(m Manifest) (*Set, error) {
	var remote []Tool
	for _, entry := range m {
		if entry.Remote != nil {
			remote = append(remote, entry.Remote.tool(entry.Name))
		}
	}
	return NewSet(remote...)
}

// hashOf is the hash of a schema that was checked, in hex. White space, the order
// of members and the way strings are escaped do not count; numbers count as they
// are written, so that no digit is lost.
func hashOf(schema json.RawMessage) string {
	if len(schema) == 0 {
		return ""
	}
	canonical := jsontext.Value(bytes.Clone(schema))
	if err := canonical.Format(jsontext.ReorderRawObjects(true)); err != nil {
		canonical = jsontext.Value(schema) // no schema of a set: it matches none
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}
