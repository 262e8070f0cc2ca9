package taint

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Report is what [Scan] found. Only a Report that Scan returned means anything:
// the zero Report is not a clean bill.
type Report struct {
	// Tainted is whether the document carries a label anywhere or could not be
	// read to its end. Only false means that there is no label in it.
	Tainted bool
	// Origins are the distinct origins in the order in which their wrappers
	// begin, at most [MaxReportOrigins], each as its wrapper has it, perhaps
	// joined ([Join]). A failure of the scan itself comes last, as
	// [OriginBoundExceeded] or [OriginInvalidJSON], and always has room.
	Origins []string
	// Paths are the JSON pointers (RFC 6901) of the wrappers in the order in
	// which they begin, at most [MaxReportPaths]; "" is the whole document. A path
	// longer than [MaxPathBytes] is left out.
	Paths []string
	// Exceeded is whether the scan stopped at [MaxScanDepth] or [MaxScanNodes].
	Exceeded bool
	// Truncated is whether Origins or Paths lack something that was found.
	Truncated bool
	// Err is a [*DecodeError] when the text is not strict JSON, else nil.
	Err error
}

// Scan looks for wrappers in the JSON document raw, at every level and also
// inside the values of wrappers. Any object with a member named [MarkerKey] after
// decoding counts; one that is not a well-formed wrapper has the origin
// [OriginMalformedWrapper]. Text that is not strict JSON, or goes beyond
// [MaxScanDepth] or [MaxScanNodes], counts as tainted. Reading stops where the
// first of these is met.
func Scan(raw []byte) Report {
	s := scanner{data: raw, dec: newDecoder(raw)}
	return s.report(s.run())
}

// member is what the member being read means to its object.
type member uint8

const (
	memberOther member = iota
	memberMarker
	memberValue
	memberOrigin
)

// frame is one open object or array.
type frame struct {
	object   bool
	wantName bool
	length   int    // names or elements begun
	name     []byte // current name, quoted, in the document
	current  member

	// Of an object seen as a wrapper.
	found    int // index in scanner.found, -1 without the marker key
	hasValue bool
	label    string // origin said by a well-formed marker, else ""

	// Of an object seen as the marker in a wrapper.
	isMarker bool
	origin   string // legal origin, else ""
}

// setName notes the quoted name of the member that follows.
func (f *frame) setName(quoted []byte) {
	f.wantName = false
	f.length++
	f.name = quoted
	switch {
	case nameIs(quoted, MarkerKey):
		f.current = memberMarker
	case nameIs(quoted, valueKey):
		f.current = memberValue
	case f.isMarker && nameIs(quoted, originKey):
		f.current = memberOrigin
	default:
		f.current = memberOther
	}
}

// wellFormed reports whether an object that was read to its end is a well-formed
// wrapper.
func (f *frame) wellFormed() bool {
	return f.found >= 0 && f.length == 2 && f.hasValue && f.label != ""
}

type scanner struct {
	data  []byte
	dec   *jsontext.Decoder
	stack [MaxScanDepth]frame
	depth int
	nodes int

	found     []string // origin of each wrapper
	paths     []string
	exceeded  bool
	truncated bool
}

// run reads the document to its end or to a bound.
func (s *scanner) run() error {
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
			return explainAsValid(s.data, err)
		case s.exceeded:
			return nil
		case s.depth == 0:
			return atEnd(s.dec)
		}
	}
}

// begin counts a value and tells the object or array around it.
func (s *scanner) begin() {
	s.nodes++
	if s.nodes > MaxScanNodes {
		s.exceeded = true
	}
	if s.depth == 0 {
		return
	}
	top := &s.stack[s.depth-1]
	if top.object {
		top.wantName = true
		top.hasValue = top.hasValue || top.current == memberValue
	} else {
		top.length++
	}
}

func (s *scanner) open(kind jsontext.Kind) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	s.begin()
	if s.depth == MaxScanDepth {
		s.exceeded = true
	}
	if s.exceeded {
		return nil
	}
	isMarker := s.depth > 0 && s.stack[s.depth-1].object && s.stack[s.depth-1].current == memberMarker
	s.stack[s.depth] = frame{
		object:   kind == '{',
		wantName: kind == '{',
		found:    -1,
		isMarker: isMarker && kind == '{',
	}
	s.depth++
	return nil
}

func (s *scanner) close() error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	s.depth--
	done := &s.stack[s.depth]
	if done.found >= 0 && !done.wellFormed() {
		s.found[done.found] = OriginMalformedWrapper
	}
	if done.isMarker && done.length == 1 && done.origin != "" {
		wrapper := &s.stack[s.depth-1]
		wrapper.label = done.origin
		// Provisional until the wrapper closes, and what stays if it never does.
		s.found[wrapper.found] = wrapper.label
	}
	return nil
}

// scalar reads a name or a value that is neither object nor array.
func (s *scanner) scalar() error {
	text, err := readRaw(s.dec, s.data)
	if err != nil {
		return err
	}
	if s.depth > 0 && s.stack[s.depth-1].wantName {
		s.name(text)
		return nil
	}
	s.begin()
	if s.depth > 0 && s.stack[s.depth-1].current == memberOrigin {
		if origin, ok := decodeOrigin(text); ok {
			s.stack[s.depth-1].origin = origin
		}
	}
	return nil
}

func (s *scanner) name(quoted []byte) {
	top := &s.stack[s.depth-1]
	top.setName(quoted)
	if top.current == memberMarker {
		top.found = len(s.found)
		s.found = append(s.found, OriginMalformedWrapper)
		s.addPath()
	}
}

// addPath records the pointer of the innermost open object. It is built here and
// not by the decoder to stop early when names are huge.
func (s *scanner) addPath() {
	if len(s.paths) == MaxReportPaths {
		s.truncated = true
		return
	}
	var path []byte
	for i := range s.stack[:s.depth-1] {
		f := &s.stack[i]
		path = append(path, '/')
		if f.object {
			// An escape writes one byte of the path in up to six.
			if len(f.name) > 6*MaxPathBytes+2 {
				s.truncated = true
				return
			}
			path = appendPointerToken(path, f.name)
		} else {
			path = strconv.AppendInt(path, int64(f.length-1), 10)
		}
		if len(path) > MaxPathBytes {
			s.truncated = true
			return
		}
	}
	s.paths = append(s.paths, string(path))
}

// appendPointerToken appends a quoted name, escaped as RFC 6901 says.
func appendPointerToken(path, quoted []byte) []byte {
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		name, _ = jsontext.AppendUnquote(nil, quoted) // the decoder accepted it
	}
	for _, c := range name {
		switch c {
		case '~':
			path = append(path, "~0"...)
		case '/':
			path = append(path, "~1"...)
		default:
			path = append(path, c)
		}
	}
	return path
}

func (s *scanner) report(err error) Report {
	r := Report{
		Tainted:  len(s.found) > 0 || s.exceeded || err != nil,
		Paths:    s.paths,
		Exceeded: s.exceeded,
		Err:      err,
	}
	failure := ""
	switch {
	case err != nil:
		failure = OriginInvalidJSON
	case s.exceeded:
		failure = OriginBoundExceeded
	}
	room := MaxReportOrigins
	if failure != "" {
		room--
	}
	for _, origin := range s.found {
		// The failure is added below, also when a wrapper claims the same origin.
		if origin == failure || slices.Contains(r.Origins, origin) {
			continue
		}
		if len(r.Origins) == room {
			s.truncated = true
			break
		}
		r.Origins = append(r.Origins, origin)
	}
	if failure != "" {
		r.Origins = append(r.Origins, failure)
	}
	r.Truncated = s.truncated
	return r
}
