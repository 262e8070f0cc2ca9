package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

// answer is a response that was read to its end, decoded and masked.
type answer struct {
	status     int
	statusText string
	header     http.Header
	body       []byte
	location   string // where it leads, before masking: it is followed, not shown
}

// exchange checks one request, sends it on a connection of its own and reads the
// response.
func (k *call) exchange(ctx context.Context, h hop) (*answer, error) {
	r, denied := match(k.client.rules, h.target, h.method)
	if denied == nil {
		denied = checkHeaders(h.header)
	}
	if denied == nil {
		denied = checkAgainst(r, h.header)
	}
	if denied == nil && int64(len(h.body)) > k.client.options.RequestBytes {
		denied = deny(KindBody, "the request's body must be at most %d bytes", k.client.options.RequestBytes)
	}
	if denied != nil {
		return nil, k.refuse(h, denied)
	}
	conn, err := k.client.connect(ctx, h.target, r)
	if err != nil {
		return nil, k.refuse(h, k.explain(ctx, h, err))
	}
	defer conn.Close()
	res, err := k.client.transport(conn).RoundTrip(k.request(ctx, h, r))
	if err != nil {
		return nil, k.explain(ctx, h, fail(err, "%s gave no valid response", h.target.authority()))
	}
	defer res.Body.Close()
	if res.StatusCode < 200 {
		return nil, fail(nil, "%s gave no valid response", h.target.authority())
	}
	body, err := readBody(res, k.client.options.ResponseBytes, k.client.options.DecodedBytes)
	if err != nil {
		return nil, k.explain(ctx, h, k.bodyFailed(h, err))
	}
	return k.answer(res, body), nil
}

// request is what is sent: the caller's headers, the rule's, and ours.
func (k *call) request(ctx context.Context, h hop, r *rule) *http.Request {
	header := h.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", k.client.options.UserAgent)
	}
	header.Set("Accept-Encoding", acceptEncoding)
	if _, part := header["Range"]; part {
		header.Set("Accept-Encoding", "identity") // a part of a compressed body is of no use
	}
	for _, t := range r.headers {
		header.Set(t.name, t.fill(k.values))
	}
	req := &http.Request{
		Method: h.method,
		URL:    h.target.url(),
		Host:   h.target.hostHeader(),
		Header: header,
		Body:   http.NoBody,
	}
	if len(h.body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(h.body))
		req.ContentLength = int64(len(h.body))
	}
	return req.WithContext(untraced{ctx})
}

// untraced is a context without values. With net/http/httptrace the caller's could
// ask for each header that is sent, and so for secrets.
type untraced struct{ context.Context }

func (untraced) Value(any) any { return nil }

// transport sends on this connection, once: a connection that was checked for one
// request is never used for another.
func (c *Client) transport(conn net.Conn) *http.Transport {
	unused := make(chan net.Conn, 1)
	unused <- conn
	take := func(context.Context, string, string) (net.Conn, error) {
		select {
		case conn := <-unused:
			return conn, nil
		default:
			return nil, errors.New("egress: a connection is for one request")
		}
	}
	return &http.Transport{
		Proxy:                  nil, // the environment names none
		DialContext:            take,
		DialTLSContext:         take,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // no HTTP/2
		DisableKeepAlives:      true,
		DisableCompression:     true,
		ResponseHeaderTimeout:  c.options.HeaderTimeout,
		MaxResponseHeaderBytes: c.options.ResponseHeaderBytes,
	}
}

func (k *call) bodyFailed(h hop, err error) *FailedError {
	o := k.client.options
	switch {
	case errors.Is(err, errReceivedLimit):
		return fail(err, "the response of %s is larger than %d bytes", h.target.authority(), o.ResponseBytes)
	case errors.Is(err, errDecodedLimit):
		return fail(err, "the response of %s is larger than %d bytes after decompression", h.target.authority(), o.DecodedBytes)
	}
	return fail(err, "the response of %s could not be read", h.target.authority())
}

// explain names the time if it is over, whatever broke because of it.
func (k *call) explain(ctx context.Context, h hop, err error) error {
	failed, ok := errors.AsType[*FailedError](err)
	if !ok {
		return err
	}
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		failed = fail(errors.Join(ctx.Err(), failed.cause), "the request to %s took too long", h.target.authority())
	case ctx.Err() != nil:
		failed = fail(errors.Join(ctx.Err(), failed.cause), "the request to %s was cancelled", h.target.authority())
	case errors.As(failed.cause, &timeout) && timeout.Timeout():
		failed = fail(failed.cause, "%s did not respond in time", h.target.authority())
	}
	return k.mask.failed(failed)
}

func (k *call) answer(res *http.Response, body []byte) *answer {
	_, text, _ := strings.Cut(res.Status, " ")
	header := res.Header
	text = cleanText(text)
	for name, values := range header {
		if !httpguts.ValidHeaderFieldName(name) {
			delete(header, name)
			continue
		}
		for i, v := range values {
			values[i] = cleanText(v)
		}
	}
	location := strings.Join(header.Values("Location"), ", ")
	maskedBody := []byte(k.mask.text(string(body)))
	if header.Get("Content-Encoding") != "" || len(maskedBody) != len(body) {
		// They describe what was received, not what is handed out.
		header.Del("Content-Encoding")
		header.Del("Content-Length")
	}
	return &answer{
		status:     res.StatusCode,
		statusText: k.mask.text(text),
		header:     k.mask.header(header),
		body:       maskedBody,
		location:   location,
	}
}

// cleanText makes text of a status line or header valid UTF-8 of one line. Bytes
// that are no UTF-8 are read as Latin-1, as the fetch standard does.
func cleanText(s string) string {
	if !utf8.ValidString(s) {
		runes := make([]rune, len(s))
		for i := range len(s) {
			runes[i] = rune(s[i])
		}
		s = string(runes)
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
