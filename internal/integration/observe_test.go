package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/taint"
)

// observed is what a client reads from the wire, labels checked and taken off.
type observed struct {
	Status    sandbox.Status
	Value     json.RawMessage // nil where there is none
	ValueType spi.ValueType
	Logs      []spi.LogLine
	Error     *observedError
	Usage     struct {
		Fuel, MemoryPeakBytes, OutputBytes, LogBytes, HostCalls int64
		WallMs                                                  float64
	}
	Truncated sandbox.Truncated
	Run       sandbox.Run

	wire []byte        // the whole result
	took time.Duration // by the host's clock, around Eval
}

type observedError struct {
	Kind                 spi.Kind
	Limit                *spi.ReachedLimit
	Name, Message, Stack string
	Line, Column         int
}

// observe runs a script and reads its result from the wire.
func observe(ctx context.Context, sb *sandbox.Sandbox, req *sandbox.Request) (*observed, error) {
	start := time.Now()
	result, err := sb.Eval(ctx, *req)
	took := time.Since(start)
	if err != nil {
		return nil, err
	}
	wire, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	o, err := readWire(wire)
	if err != nil {
		return nil, err
	}
	o.took = took
	return o, nil
}

// guestMembers are the parts of a result that a script can have written; all
// others are minted by the host.
func guestMembers() (ofResult, ofError []string) {
	return []string{"value", "logs"}, []string{"name", "message", "stack"}
}

// readWire checks that every byte of the guest's is inside a label, and that
// nothing else is, and takes the labels off.
func readWire(wire []byte) (*observed, error) {
	report := taint.Scan(wire)
	switch {
	case report.Err != nil:
		return nil, fmt.Errorf("the result is not strict JSON: %w", report.Err)
	case !report.Tainted || !slices.Contains(report.Origins, taint.OriginSandbox):
		return nil, errors.New("the result carries no label of the sandbox")
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(wire, &members); err != nil {
		return nil, err
	}
	ofResult, ofError := guestMembers()
	if err := unlabel(members, ofResult); err != nil {
		return nil, err
	}
	o := &observed{wire: wire, Value: members["value"]}
	if err := json.Unmarshal(members["logs"], &o.Logs); err != nil {
		return nil, fmt.Errorf("logs: %w", err)
	}
	if raw, ok := members["error"]; ok {
		parts := map[string]json.RawMessage{}
		if err := json.Unmarshal(raw, &parts); err != nil {
			return nil, err
		}
		if err := unlabel(parts, ofError); err != nil {
			return nil, fmt.Errorf("error: %w", err)
		}
		o.Error = &observedError{}
		if err := remarshal(parts, o.Error); err != nil {
			return nil, err
		}
		if err := noLabelIn(parts, ofError); err != nil {
			return nil, fmt.Errorf("error: %w", err)
		}
		delete(members, "error")
	}
	if err := noLabelIn(members, ofResult); err != nil {
		return nil, err
	}
	if o.Value == nil {
		delete(members, "value")
	}
	delete(members, "logs") // read above
	shown := *o
	if err := remarshal(members, &shown); err != nil {
		return nil, err
	}
	shown.Logs, shown.Error, shown.Value = o.Logs, o.Error, o.Value
	return &shown, shown.consistent()
}

// consistent checks what holds for every result whatever the script.
func (o *observed) consistent() error {
	switch {
	case o.Status == sandbox.StatusOK && (o.Value == nil || o.Error != nil || o.ValueType == ""):
		return errors.New("status ok without exactly a value and its type")
	case o.Status == sandbox.StatusError && (o.Value != nil || o.Error == nil || o.ValueType != ""):
		return errors.New("status error without exactly an error")
	case o.Status != sandbox.StatusOK && o.Status != sandbox.StatusError:
		return fmt.Errorf("status %q", o.Status)
	case o.Error != nil && !slices.Contains(spi.Kinds(), o.Error.Kind):
		return fmt.Errorf("error kind %q is not one of the frozen kinds", o.Error.Kind)
	case o.Error != nil && o.Error.Kind == spi.KindBackend:
		return fmt.Errorf("the guest's engine failed: %s", o.Error.Message)
	}
	var logBytes int64
	for _, l := range o.Logs {
		logBytes += int64(len(l.Text)) + 1
	}
	if logBytes != o.Usage.LogBytes {
		return fmt.Errorf("usage says %d log bytes, the lines have %d", o.Usage.LogBytes, logBytes)
	}
	return nil
}

// unlabel replaces the named members, where present, by what their labels hold.
func unlabel(members map[string]json.RawMessage, names []string) error {
	for _, name := range names {
		raw, ok := members[name]
		if !ok {
			continue
		}
		var labelled taint.Tainted
		if err := json.Unmarshal(raw, &labelled); err != nil {
			return fmt.Errorf("%s has no label: %w", name, err)
		}
		if labelled.Origin != taint.OriginSandbox {
			return fmt.Errorf("%s has the origin %q", name, labelled.Origin)
		}
		members[name] = taint.Unwrap(labelled)
	}
	return nil
}

// noLabelIn checks that the members but for the guest's carry no label: what is
// inside a label is nobody else's.
func noLabelIn(members map[string]json.RawMessage, guests []string) error {
	for name, raw := range members {
		if !slices.Contains(guests, name) && taint.Scan(raw).Tainted {
			return fmt.Errorf("%s is the host's and carries a label", name)
		}
	}
	return nil
}

func remarshal(members map[string]json.RawMessage, into any) error {
	raw, err := json.Marshal(members)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// late is how much later than limit the eval returned, by its own usage or by
// the host's clock; zero or less is in time.
func (o *observed) late(limit time.Duration) time.Duration {
	return max(o.took, time.Duration(o.Usage.WallMs*float64(time.Millisecond))) - limit
}

// bytes is the result as it came, but for the two fields that no two runs share.
func (o *observed) bytes() (string, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(o.wire, &members); err != nil {
		return "", err
	}
	for member, own := range map[string]string{"usage": "wallMs", "run": "evalId"} {
		parts := map[string]json.RawMessage{}
		if err := json.Unmarshal(members[member], &parts); err != nil {
			return "", err
		}
		if parts[own] == nil {
			return "", fmt.Errorf("the result has no %s.%s", member, own)
		}
		delete(parts, own)
		var err error
		if members[member], err = json.Marshal(parts); err != nil {
			return "", err
		}
	}
	raw, err := json.Marshal(members)
	return string(raw), err
}
