package tools

import (
	"context"
	"encoding/json"
	"time"
)

// Defaults and hard bounds of a [Tool].
const (
	// DefaultTimeout is the time of a handler where [Tool.Timeout] is zero.
	DefaultTimeout = 30 * time.Second
	// MaxTimeout bounds [Tool.Timeout]. What takes longer is suspended.
	MaxTimeout = time.Hour
	// DefaultResultBytes bounds a result where [Tool.MaxResultBytes] is zero.
	DefaultResultBytes int64 = 1 << 20
	// MaxResultBytes bounds [Tool.MaxResultBytes].
	MaxResultBytes int64 = 64 << 20
	// MaxDescriptionBytes bounds [Tool.Description].
	MaxDescriptionBytes = 8 << 10
)

// Handler does the work of a tool. The result is written with
// [encoding/json.Marshal]. See [Tool.Handler].
type Handler func(ctx context.Context, call *Call) (any, error)

// Tool is one function of the host that a script may be handed.
type Tool struct {
	// Name is how scripts reach it: "crm.lookup" is tools.crm.lookup. Identifiers
	// of ASCII letters, digits, _ and $, joined by dots; see [CheckName].
	Name string
	// Description says what it is for. It is put before a model, at most
	// [MaxDescriptionBytes].
	Description string
	// Input is the JSON Schema (2020-12, unless it says otherwise) of the one
	// object that the tool is called with; nil allows any object.
	Input json.RawMessage
	// Output is the JSON Schema of the result; nil allows anything.
	Output json.RawMessage
	// Handler does the work. It may run any number of times at once, and it should
	// return when its context ends. One that does not is abandoned: the script
	// gets its answer, the goroutine goes on until the handler returns, and what
	// it returns is dropped.
	//
	// Of an error the script sees nothing but "NAME failed", unless [Failf] or
	// [Denied] made it, or it is [ErrSuspend].
	Handler Handler
	// Origin is the label of results; the default is "tool:" and the name. See
	// [taint.CheckOrigin].
	Origin string
	// DangerouslyTrustResults leaves results without a label, for a tool that
	// returns nothing which a stranger could have written.
	DangerouslyTrustResults bool
	// Timeout is the time of one run of the handler; zero is [DefaultTimeout],
	// the most [MaxTimeout].
	Timeout time.Duration
	// MaxCalls bounds the calls of one eval; 0 is no bound of its own. A Set does
	// not count: whoever asks it for answers does, and finds it in [Info].
	MaxCalls int64
	// MaxResultBytes bounds a result as JSON; zero is [DefaultResultBytes], the
	// most [MaxResultBytes].
	MaxResultBytes int64
	// Idempotent says that a second call does nothing that the first did not. It
	// is told to policies and in declarations.
	Idempotent bool

	kind toolKind
}

// toolKind is what makes a tool more than a handler.
type toolKind uint8

const (
	kindLocal  toolKind = iota
	kindRemote          // every call is suspended
	kindFetch           // the script's global fetch
)

// Remote is a tool without a handler: every call that the policy allows is
// suspended, and whoever drives the sandbox answers it. Its schemas may be a
// stranger's: [NewSet] refuses those of which a check may take long.
func Remote(name, description string, input json.RawMessage) Tool {
	return Tool{Name: name, Description: description, Input: input, kind: kindRemote}
}

// Call is one call of a tool.
type Call struct {
	// EvalID names the eval, as whoever asks for answers names it.
	EvalID string
	// ID counts the calls of one eval, from 1.
	ID int64
	// Tool is the name.
	Tool string
	// Args is given to [Set.Answer] as the JSON array of the script's arguments.
	// Policies and handlers get the one JSON object that it holds, checked against
	// the schema. Guest data.
	Args json.RawMessage
	// ArgsOrigin is the label of Args: the join of the origins of all that the script
	// had been given before. A handler that stores Args where others read them stores
	// it with them; see [taint.Wrap].
	ArgsOrigin string
	// ScriptSHA256 is the hash of the script, in hex.
	ScriptSHA256 string
	// Position is where the script made the call; zero where that is not known.
	Position Position
	// Idempotent is as the tool says; Answer fills it in.
	Idempotent bool
}

// Position is a place in a script, counted from 1. A script can choose it.
type Position struct {
	Line, Column int
}

// Info is what a set says about a tool, with all defaults filled in.
type Info struct {
	Name, Description string
	// Input and Output are the schemas; nil where there is none. They must not be
	// modified.
	Input, Output json.RawMessage
	// Origin is the label of results, empty where they are trusted.
	Origin         string
	Timeout        time.Duration
	MaxCalls       int64 // 0: no bound
	MaxResultBytes int64
	Idempotent     bool
	// Remote: every call suspends.
	Remote bool
}
