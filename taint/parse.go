package taint

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// parse reads data as one well-formed wrapper. The value is a part of data.
func parse(data []byte) (origin string, value []byte, err error) {
	p := parser{data: data, dec: newDecoder(data)}
	if err := p.wrapper(); err != nil {
		return "", nil, explain(data, err)
	}
	return p.origin, p.value, nil
}

type parser struct {
	data   []byte
	dec    *jsontext.Decoder
	origin string
	value  []byte
}

func (p *parser) wrapper() error {
	var hasMarker, hasValue bool
	err := p.object(func(name []byte) error {
		switch {
		case nameIs(name, MarkerKey):
			hasMarker = true
			return p.marker()
		case nameIs(name, valueKey):
			hasValue = true
			var err error
			p.value, err = p.next()
			return err
		default:
			return p.refuse(ErrNotWrapper, "found another member")
		}
	})
	switch {
	case err != nil:
		return err
	case !hasMarker || !hasValue:
		return p.refuse(ErrNotWrapper, "a member is missing")
	}
	return atEnd(p.dec)
}

func (p *parser) marker() error {
	hasOrigin := false
	err := p.object(func(name []byte) error {
		if !nameIs(name, originKey) {
			return p.refuse(ErrNotWrapper, `the marker must have only the member "origin"`)
		}
		hasOrigin = true
		raw, err := p.next()
		if err != nil {
			return err
		}
		var ok bool
		if p.origin, ok = decodeOrigin(raw); !ok {
			return p.refuse(ErrOrigin, "")
		}
		return nil
	})
	if err == nil && !hasOrigin {
		return p.refuse(ErrNotWrapper, `the marker must have the member "origin"`)
	}
	return err
}

// object reads an object and calls member for each name; member reads the value.
func (p *parser) object(member func(name []byte) error) error {
	tok, err := p.dec.ReadToken()
	if err != nil {
		return err
	}
	if tok.Kind() != '{' {
		return p.refuse(ErrNotWrapper, "an object is needed here")
	}
	for {
		if p.dec.PeekKind() == '}' {
			_, err := p.dec.ReadToken()
			return err
		}
		name, err := p.next()
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
	}
}

// next returns the text of the next name or value, as a part of the data.
func (p *parser) next() ([]byte, error) {
	return readRaw(p.dec, p.data)
}

func (p *parser) refuse(err error, detail string) error {
	return &DecodeError{
		Pointer: string(p.dec.StackPointer()),
		Offset:  p.dec.InputOffset(),
		Err:     err,
		detail:  detail,
	}
}

// readRaw reads the next name or value and returns its text in data itself: what
// the decoder returns is only promised until the next call.
func readRaw(dec *jsontext.Decoder, data []byte) ([]byte, error) {
	v, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := dec.InputOffset()
	return data[end-int64(len(v)) : end : end], nil
}

// nameIs reports whether the valid JSON string quoted decodes to name. Comparing
// the decoded name is what makes "\u005f_loomTainted" no way around the label.
func nameIs(quoted []byte, name string) bool {
	inner := quoted[1 : len(quoted)-1]
	if string(inner) == name {
		return true
	}
	// An escape is at most six bytes for each byte of an ASCII name.
	if len(inner) <= len(name) || len(inner) > 6*len(name) || bytes.IndexByte(inner, '\\') < 0 {
		return false
	}
	decoded, err := jsontext.AppendUnquote(nil, quoted)
	return err == nil && string(decoded) == name
}

// decodeOrigin returns the origin that a JSON value holds, if it holds one.
func decodeOrigin(raw []byte) (string, bool) {
	// Twelve bytes are the longest way to write one character (two escapes).
	if raw[0] != '"' || len(raw) > 12*MaxJoinedLength+2 {
		return "", false
	}
	if string(raw) == `"`+OriginSandbox+`"` {
		return OriginSandbox, true
	}
	decoded, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", false
	}
	origin := string(decoded)
	return origin, CheckOrigin(origin) == nil
}
