// Package work holds the scripts that are measured and the answers that they
// must give.
package work

import "time"

// Limits that every subject gets as far as it offers them.
const (
	Timeout     = 10 * time.Second
	MemoryBytes = int64(64 << 20)
)

// Job is one script with its input and the only right answer.
type Job struct {
	// Code is statements; Result is the expression whose value comes back.
	Code, Result string
	// Input is the JSON text that the script sees as `input`; empty for none.
	Input string
	// Want is the result as JSON text, as JSON.stringify writes it.
	Want string
	// Logs is the number of console lines that the host must see.
	Logs int
}

// Script is the job for a subject that hands over the value of the last
// expression and has a global `input`.
func (j Job) Script() string { return j.Code + j.Result }

// PeerScript is the job for an engine as it stands: the result is made JSON text
// by the script, and an input is read from the text in the global __input.
func (j Job) PeerScript() string {
	input := ""
	if j.Input != "" {
		input = "var input = JSON.parse(__input);"
	}
	return input + j.Code + "JSON.stringify(" + j.Result + ")"
}

// SmallEval is a script as small as a useful one can be.
func SmallEval() Job {
	return Job{Result: "({a:1+1, b:[1,2,3].map(x=>x*2)})", Want: `{"a":2,"b":[2,4,6]}`}
}
