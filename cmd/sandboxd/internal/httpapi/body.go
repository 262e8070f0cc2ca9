package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	// bodyTimeout is how long a body may take, with a second more for each MiB
	// that has come.
	bodyTimeout = 10 * time.Second
	// firstRead is the size of a buffer before it is known to be needed.
	firstRead = 4 << 10
)

func bodyTime(have int64) time.Duration { return bodyTimeout + time.Duration(have>>20)*time.Second }

// unsupported says what is wrong with the form of a body, if anything.
func unsupported(h http.Header) string {
	types := h.Values("Content-Type")
	if len(types) != 1 {
		return "Content-Type must be application/json, once"
	}
	mediaType, params, err := mime.ParseMediaType(types[0])
	charset, hasCharset := params["charset"]
	if err != nil || mediaType != "application/json" || hasCharset && !strings.EqualFold(charset, "utf-8") {
		return "Content-Type must be application/json"
	}
	for enc := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		if enc = strings.TrimSpace(enc); enc != "" && !strings.EqualFold(enc, "identity") {
			return "Content-Encoding must be identity or absent"
		}
	}
	return ""
}

func tooLarge(most int64) *problem {
	return newProblem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is too large; allowed is %d bytes", most))
}

func unreadable(err error) *problem {
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge(over.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return newProblem(http.StatusRequestTimeout, fmt.Sprintf("the body did not come in time; allowed is %d seconds and one more for each MiB", bodyTimeout/time.Second))
	default:
		return newProblem(http.StatusBadRequest, "the body could not be read to its end")
	}
}

// read reads a body of at most so many bytes into one buffer, whose capacity h holds. The buffer grows
// with what has come, so that a promise of bytes costs nothing.
func (a *API) read(w http.ResponseWriter, r *http.Request, most int64, h *hold) ([]byte, *problem) {
	if r.ContentLength > most {
		return nil, tooLarge(most)
	}
	if !a.readers.TryAcquire(1) {
		return nil, unavailable("too many requests are being read")
	}
	defer a.readers.Release(1)

	conn := http.NewResponseController(w)
	begun := time.Now()
	defer context.AfterFunc(a.startup, func() { _ = conn.SetReadDeadline(begun) })()
	body := http.MaxBytesReader(w, r.Body, most)
	var buf []byte
	for {
		if len(buf) == cap(buf) {
			bigger := grown(buf, r.ContentLength, most)
			if !h.add(bigger) {
				// Many clients read no answer before they have sent everything.
				h.settle(0)
				buf = nil
				_, _ = io.Copy(io.Discard, body)
				return nil, unavailable("too many bytes are waiting")
			}
			buf = append(make([]byte, 0, bigger), buf...)
			h.settle(bigger)
			// Where a writer has no deadlines, the server's own is left.
			_ = conn.SetReadDeadline(begun.Add(bodyTime(int64(len(buf)))))
		}
		if a.startup.Err() != nil {
			return nil, a.startupRefusal()
		}
		n, err := body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case err == nil:
		case err == io.EOF && len(buf) == 0:
			return nil, newProblem(http.StatusBadRequest, "the body is not strict JSON: it is empty")
		case err == io.EOF:
			return buf, nil
		case a.startup.Err() != nil:
			return nil, a.startupRefusal()
		default:
			return nil, unreadable(err)
		}
	}
}

// grown is the next capacity of a full buffer: there is always room for one byte
// more than is announced or allowed, so that the last read can find the end.
func grown(buf []byte, announced, most int64) int64 {
	have := int64(cap(buf))
	next := min(max(2*have, firstRead), most+1)
	if announced >= have {
		next = min(next, announced+1)
	}
	return next
}
