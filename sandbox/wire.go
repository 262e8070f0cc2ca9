package sandbox

import (
	"encoding/json"
	"errors"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

// MarshalJSON writes the result as the HTTP API answers it.
func (r Result) MarshalJSON() ([]byte, error) {
	w := shower{unlabelled: r.unlabelled}
	out := wireResult{
		Status: r.Status, Value: w.show(r.Value), ValueType: r.ValueType, Logs: w.show(&r.Logs),
		Continuation: r.Continuation, Warnings: r.Warnings,
		Usage: wireUsage{
			Fuel: r.Usage.Fuel, WallMs: milliseconds(r.Usage.Wall), MemoryPeakBytes: r.Usage.MemoryPeakBytes,
			OutputBytes: r.Usage.OutputBytes, LogBytes: r.Usage.LogBytes, HostCalls: r.Usage.HostCalls,
			CallBytes: r.Usage.CallBytes, ReplyBytes: r.Usage.ReplyBytes, TotalMs: milliseconds(r.Usage.Total),
		},
		Run: wireRun{r.EvalID, r.Run},
	}
	for i := range r.Pending {
		p := &r.Pending[i]
		out.Pending = append(out.Pending, wirePending{p.ID, p.Tool, w.show(&p.Args)})
	}
	if e := r.Error; e != nil {
		out.Error = &wireError{
			Kind: e.Kind, Limit: e.Limit, Tool: e.Tool, Code: e.Code, Name: w.show(&e.Name), Message: w.show(&e.Message),
			Line: e.Line, Column: e.Column, Stack: w.show(e.Stack),
		}
	}
	if r.Truncated != (Truncated{}) {
		out.Truncated = &r.Truncated
	}
	if w.failed != nil {
		return nil, w.failed // never bare, and never without what is missing
	}
	return json.Marshal(out)
}

// shower writes guest data with its label, or bare where that was asked for.
type shower struct {
	unlabelled bool
	failed     error
}

func (w *shower) show(t *taint.Tainted) json.RawMessage {
	if t == nil {
		return nil
	}
	if w.unlabelled {
		return taint.Unwrap(*t)
	}
	b, err := t.MarshalJSON()
	w.failed = errors.Join(w.failed, err)
	return b
}

type wireResult struct {
	Status       Status          `json:"status"`
	Value        json.RawMessage `json:"value,omitempty"`
	ValueType    spi.ValueType   `json:"valueType,omitempty"`
	Logs         json.RawMessage `json:"logs"`
	Error        *wireError      `json:"error,omitempty"`
	Pending      []wirePending   `json:"pending,omitempty"`
	Continuation []byte          `json:"continuation,omitempty"` // base64
	Warnings     []Warning       `json:"warnings,omitempty"`
	Usage        wireUsage       `json:"usage"`
	Truncated    *Truncated      `json:"truncated,omitempty"`
	Run          wireRun         `json:"run"`
}

type wireRun struct {
	EvalID string `json:"evalId"`
	Run
}

type wireError struct {
	Kind    spi.Kind          `json:"kind"`
	Limit   *spi.ReachedLimit `json:"limit,omitempty"`
	Tool    string            `json:"tool,omitempty"`
	Code    string            `json:"code,omitempty"`
	Name    json.RawMessage   `json:"name,omitempty"`
	Message json.RawMessage   `json:"message,omitempty"`
	Line    int               `json:"line,omitempty"`
	Column  int               `json:"column,omitempty"`
	Stack   json.RawMessage   `json:"stack,omitempty"`
}

type wirePending struct {
	ID   int64           `json:"id"`
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

type wireUsage struct {
	Fuel            int64   `json:"fuel"`
	WallMs          float64 `json:"wallMs"`
	MemoryPeakBytes int64   `json:"memoryPeakBytes"`
	OutputBytes     int64   `json:"outputBytes"`
	LogBytes        int64   `json:"logBytes"`
	HostCalls       int64   `json:"hostCalls"`
	CallBytes       int64   `json:"callBytes,omitempty"`
	ReplyBytes      int64   `json:"replyBytes,omitempty"`
	TotalMs         float64 `json:"totalMs,omitempty"`
}
