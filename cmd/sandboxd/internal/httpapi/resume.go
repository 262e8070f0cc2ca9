package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loom-sandbox/sandboxd/sandbox"
)

// resumption is a suspended script to go on with.
type resumption struct {
	backends []string // that may know its image, in the order in which they are asked
	request  sandbox.ResumeRequest
}

// resume reads the body of a resumption. The values of replies stay a part of it.
func (d *decoder) resume(body []byte) (work, *problem) {
	members, p := membersOf(body)
	if p != nil {
		return nil, p
	}
	s := &resumption{backends: d.resumers}
	r := &s.request
	var (
		faults     faultList
		backend    string
		unreadable bool
	)
	for _, needed := range []string{"continuation", "replies"} {
		if _, ok := members[needed]; !ok {
			faults.add(needed, "is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		raw := members[name]
		switch name {
		case "continuation":
			var encoded string
			if text(raw, &encoded, name, &faults) {
				var err error
				r.Continuation, err = base64.StdEncoding.Strict().DecodeString(encoded)
				unreadable = err != nil || strings.ContainsAny(encoded, "\r\n") // which the decoder skips
			}
		case "replies":
			r.Replies = repliesOf(raw, &faults)
		case "backend":
			choice(raw, &backend, name, d.resumers, &faults)
			s.backends = []string{backend}
		default:
			if !d.setting(name, raw, &r.Limits, &r.Now, &r.Seed, &faults) {
				faults.unknown("", name, "backend, continuation, limits, now, replies and seed")
			}
		}
	}
	switch {
	case len(faults) > 0:
		return nil, unprocessable(faults)
	case unreadable:
		return nil, refusedContinuation(sandbox.ErrContinuationUnreadable)
	}
	return s, nil
}

func repliesOf(raw json.RawMessage, faults *faultList) []sandbox.Reply {
	const most = int(sandbox.MaxHostCalls)
	all, ok := elements(raw, most)
	if !ok {
		faults.add("replies", fmt.Sprintf("must be an array of at most %d replies", most))
		return nil
	}
	replies := make([]sandbox.Reply, len(all))
	for i, raw := range all {
		if len(*faults) == maxFaults {
			return nil
		}
		replyOf(raw, &replies[i], fmt.Sprintf("replies[%d]", i), faults)
	}
	return replies
}

func replyOf(raw json.RawMessage, r *sandbox.Reply, at string, faults *faultList) {
	members, ok := object(raw)
	if !ok {
		faults.add(at, "must be an object")
		return
	}
	if _, ok := members["id"]; !ok {
		faults.add(at+".id", "is missing; it must be that of a pending call")
	}
	_, isValue := members["value"]
	_, isError := members["error"]
	if isValue == isError {
		faults.add(at, "must have exactly one of value and error")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		raw := members[name]
		switch name {
		case "id":
			if r.ID, ok = integer(raw); !ok {
				faults.add(at+".id", "must be that of a pending call, a whole number")
			}
		case "value":
			r.Value = raw
		case "error":
			r.Error = replyErrorOf(raw, at+".error", faults)
		default:
			faults.unknown(at+".", name, "error, id and value")
		}
	}
}

func replyErrorOf(raw json.RawMessage, at string, faults *faultList) *sandbox.ReplyError {
	e := &sandbox.ReplyError{}
	members, ok := object(raw)
	if !ok {
		faults.add(at, "must be an object")
		return e
	}
	if _, ok := members["message"]; !ok {
		faults.add(at+".message", "is missing; it must be a string")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		switch name {
		case "message":
			text(members[name], &e.Message, at+".message", faults)
		case "name":
			text(members[name], &e.Name, at+".name", faults)
		default:
			faults.unknown(at+".", name, "message and name")
		}
	}
	return e
}

// verb implements work.
func (s *resumption) verb() string { return "resume" }

// keep implements work. Most of the body was the continuation, which has been
// decoded: nothing of it is kept.
func (s *resumption) keep(int64) int64 {
	r := &s.request
	kept := int64(len(r.Continuation))
	for i := range r.Replies {
		reply := &r.Replies[i]
		reply.Value = bytes.Clone(reply.Value)
		kept += int64(len(reply.Value))
		if reply.Error != nil {
			kept += int64(len(reply.Error.Message))
		}
	}
	return kept
}

// run implements work. Who asks need not know on which backend the script began:
// the first that has its image goes on with it.
func (s *resumption) run(ctx context.Context, evaluators map[string]Evaluator) (backend string, res *sandbox.Result, err error) {
	err = sandbox.ErrContinuationForeign // where no backend resumes
	for _, backend = range s.backends {
		if res, err = evaluators[backend].Resume(ctx, s.request); !errors.Is(err, sandbox.ErrContinuationForeign) {
			break
		}
	}
	return backend, res, err
}
