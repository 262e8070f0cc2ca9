package subprocess

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	strict "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/loom-sandbox/sandboxd/spi"
)

// The wire: each message is one line of JSON. The host opens once and then asks
// for one eval at a time; the child answers each. When the host closes the
// child's input, the child ends the eval that runs, answers it, and exits.

// opening is the host's first message.
type opening struct {
	CacheDir string
	Config   *spi.Config // nil: say what you are, nothing else follows
}

func newOpening(cacheDir string, cfg *spi.Config) *opening {
	o := &opening{CacheDir: cacheDir}
	if cfg != nil {
		c := *cfg
		c.Now = c.Now.UTC() // not every zone can be written
		o.Config = &c
	}
	return o
}

// question is one eval. Input is text and not JSON within JSON: it must arrive
// byte for byte.
type question struct {
	Source   string
	Language spi.Language
	Input    string
}

// reply is what the child says: to an opening Ready, to a question Outcome, and
// to either Failure where it could not do its work.
type reply struct {
	Ready   *identity    `json:",omitempty"`
	Outcome *spi.Outcome `json:",omitempty"` // but for the value
	Value   string       `json:",omitempty"`
	Spent   bool         `json:",omitempty"` // this eval was the last
	Failure string       `json:",omitempty"`
}

// kind is that of the error, empty where there is none.
func (r *reply) kind() spi.Kind {
	if r.Outcome == nil || r.Outcome.Error == nil {
		return ""
	}
	return r.Outcome.Error.Kind
}

// identity is what a child is.
type identity struct {
	Image          string
	MinMemoryBytes int64
	Warnings       string `json:",omitempty"`
}

const (
	maxReadyBytes   = 64 << 10
	maxTextBytes    = spi.MaxErrorNameBytes + spi.MaxErrorMessageBytes + spi.MaxErrorStackBytes
	maxByteInJSON   = 6  // \u0000
	maxLineInJSON   = 64 // of a log line, but for its text
	maxFormInJSON   = 4 << 10
	practicallyNone = 1 << 40 // a limit so large that it is none; sums stay small
)

// maxReplyBytes is the longest line that an honest child answers an eval with.
func maxReplyBytes(l *spi.Limits) int64 {
	value := min(l.OutputBytes, l.MemoryBytes)
	logs := min(l.LogBytes, practicallyNone)
	return maxByteInJSON*(value+logs+maxTextBytes) + maxLineInJSON*logs + maxFormInJSON
}

// errForm says that a message is too long, or not one.
var errForm = errors.New("subprocess: malformed message")

// send writes one message.
func send(w io.Writer, message any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(message)
}

// receive reads one message of at most limit bytes. What does not end, has a
// member that nobody knows, in another case or twice, is not UTF-8 or goes on
// after the message is refused.
func receive(r *bufio.Reader, limit int64, message any) error {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if int64(len(line)+len(part)) > limit {
			return fmt.Errorf("%w: more than %d bytes", errForm, limit)
		}
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	// [send] writes a duration as the older package does.
	if strict.Unmarshal(line, message, strict.RejectUnknownMembers(true), jsonv1.FormatDurationAsNano(true)) != nil {
		return fmt.Errorf("%w: it does not decode", errForm) // the reason may quote it
	}
	return nil
}
