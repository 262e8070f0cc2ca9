package taint

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Strip takes all labels off: it returns raw with every well-formed wrapper, at
// any level and also inside other wrappers, replaced by its value, and the
// distinct origins in the order in which their wrappers begin. What is not
// replaced stays byte for byte, white space included. It is for data that stays
// inside, such as the arguments of a call; whoever passes on what was made of it
// labels that with the [Join] of these origins.
//
// An object that has the marker key but is not a well-formed wrapper stays and
// has the origin [OriginMalformedWrapper]. Inside of it wrappers are replaced,
// but for those inside the marker itself: with these gone it could become a
// wrapper that nobody wrote. Their origins are reported all the same.
//
// There are at most [MaxStripOrigins] origins; if there would be more,
// [OriginBoundExceeded] follows them. Each is as its wrapper has it, perhaps joined.
// Without a label anywhere, origins is nil and value is raw itself; else value
// is a copy.
//
// raw must be strict JSON: see [DecodeStrict]. The error is a [*DecodeError], and
// nothing else is returned with it. Unlike [Scan], Strip has no bounds below
// [MaxDepth].
func Strip(raw json.RawMessage) (value json.RawMessage, origins []string, err error) {
	if !mayHoldMarker(raw) {
		if err := Valid(raw); err != nil {
			return nil, nil, err
		}
		return raw[:len(raw):len(raw)], nil, nil
	}
	s := stripper{data: raw, dec: newDecoder(raw)}
	if err := s.run(); err != nil {
		return nil, nil, explainAsValid(raw, err)
	}
	return s.value(), s.origins(), nil
}

// mayHoldMarker is false only if no member of raw can be named MarkerKey. All its
// characters are ASCII, so an escape in it begins with \u00.
func mayHoldMarker(raw []byte) bool {
	return bytes.Contains(raw, []byte(MarkerKey)) || bytes.Contains(raw, []byte(`\u00`))
}

// cut is a part of the document to leave out. An empty one does nothing.
type cut struct{ start, end int }

// layer is one open object or array.
type layer struct {
	frame
	inMarker             bool // a marker, or inside of one
	start                int  // of its bracket
	cut                  int  // index in stripper.cuts of what goes before the value
	valueStart, valueEnd int  // of the member "value"
}

// stripper reads the document once and notes what to leave out. The cuts do not
// overlap and are in the order of the document: the one before an object's value
// is given its place when the object begins, the one behind it when it ends, and
// what lies between them is inside the value, because a well-formed marker has
// nothing to cut.
type stripper struct {
	data  []byte
	dec   *jsontext.Decoder
	stack []layer
	cuts  []cut
	found []string // origin of each wrapper
}

func (s *stripper) run() error {
	for {
		var err error
		switch kind := s.dec.PeekKind(); kind {
		case '{', '[':
			err = s.open(kind)
		case '}', ']':
			err = s.close()
		default:
			err = s.scalar()
		}
		switch {
		case err != nil:
			return err
		case len(s.stack) == 0:
			return atEnd(s.dec)
		}
	}
}

// top is the innermost open object or array, nil outside of all.
func (s *stripper) top() *layer {
	if len(s.stack) == 0 {
		return nil
	}
	return &s.stack[len(s.stack)-1]
}

// begin tells the object or array around a value where the value begins.
func (s *stripper) begin(start int) {
	top := s.top()
	if top == nil || !top.object {
		return
	}
	top.wantName = true
	if top.current == memberValue {
		top.hasValue = true
		top.valueStart = start
	}
}

// end is the counterpart of begin.
func (s *stripper) end(end int) {
	if top := s.top(); top != nil && top.object && top.current == memberValue {
		top.valueEnd = end
	}
}

func (s *stripper) open(kind jsontext.Kind) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	start := int(s.dec.InputOffset()) - 1
	s.begin(start)
	l := layer{
		frame: frame{object: kind == '{', wantName: kind == '{', found: -1},
		start: start,
		cut:   len(s.cuts),
	}
	if top := s.top(); top != nil {
		isMarker := top.object && top.current == memberMarker
		l.isMarker = isMarker && l.object
		l.inMarker = isMarker || top.inMarker
	}
	if l.object {
		s.cuts = append(s.cuts, cut{})
	}
	s.stack = append(s.stack, l)
	return nil
}

func (s *stripper) close() error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	end := int(s.dec.InputOffset())
	done := *s.top()
	s.stack = s.stack[:len(s.stack)-1]
	s.end(end)
	switch {
	case done.wellFormed() && !done.inMarker:
		s.cuts[done.cut] = cut{done.start, done.valueStart}
		s.cuts = append(s.cuts, cut{done.valueEnd, end})
	case done.object && len(s.cuts) == done.cut+1:
		s.cuts = s.cuts[:done.cut] // the place is not needed, and nothing came behind it
	}
	if done.found >= 0 && !done.wellFormed() {
		s.found[done.found] = OriginMalformedWrapper
	}
	if done.isMarker && done.length == 1 && done.origin != "" {
		wrapper := s.top()
		wrapper.label = done.origin
		s.found[wrapper.found] = wrapper.label
	}
	return nil
}

// scalar reads a name or a value that is neither object nor array.
func (s *stripper) scalar() error {
	text, err := readRaw(s.dec, s.data)
	if err != nil {
		return err
	}
	top := s.top()
	if top != nil && top.wantName {
		top.setName(text)
		if top.current == memberMarker {
			top.found = len(s.found)
			s.found = append(s.found, OriginMalformedWrapper)
		}
		return nil
	}
	end := int(s.dec.InputOffset())
	s.begin(end - len(text))
	s.end(end)
	if top != nil && top.current == memberOrigin {
		if origin, ok := decodeOrigin(text); ok {
			top.origin = origin
		}
	}
	return nil
}

// value is the document without what is cut.
func (s *stripper) value() json.RawMessage {
	kept := len(s.data)
	for _, c := range s.cuts {
		kept -= c.end - c.start
	}
	if kept == len(s.data) {
		return s.data[:kept:kept]
	}
	out := make([]byte, 0, kept)
	at := 0
	for _, c := range s.cuts {
		if c.end > c.start {
			out = append(out, s.data[at:c.start]...)
			at = c.end
		}
	}
	return append(out, s.data[at:]...)
}

// origins returns what was found, each once.
func (s *stripper) origins() []string {
	var distinct []string
	seen := make(map[string]struct{})
	for _, origin := range s.found {
		if _, again := seen[origin]; again {
			continue
		}
		if len(distinct) == MaxStripOrigins {
			return append(distinct, OriginBoundExceeded)
		}
		seen[origin] = struct{}{}
		distinct = append(distinct, origin)
	}
	return distinct
}
