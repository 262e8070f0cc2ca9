package egress

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// HTTPClient gives a client for Go code under the same rules. Every request
// passes them, those of redirects too, whatever uses its Transport. There is no
// cookie jar and no proxy; a response's body was read to its end before it is
// handed out, so endless ones fail. Errors wrap [*DeniedError] or [*FailedError].
//
// Go code may set the headers that only scripts may not, such as Cookie. The
// secrets of rules are not in the http.Request that comes with a response, and are
// masked in the response, so that a redirect to a URL with one leads elsewhere.
func (c *Client) HTTPClient() *http.Client {
	return &http.Client{
		Transport:     &roundTripper{c},
		CheckRedirect: c.checkRedirect,
		Timeout:       c.options.Timeout,
	}
}

func (c *Client) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > c.options.MaxRedirects {
		return fail(nil, "more than %d redirects", c.options.MaxRedirects)
	}
	// http.Client copies the first request's headers each time, and keeps
	// credentials for the hosts below its own.
	for _, earlier := range via {
		if !sameOrigin(earlier.URL, req.URL) {
			withoutCredentials(req.Header)
			break
		}
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	first, bad := parseTarget(a.String())
	second, worse := parseTarget(b.String())
	return bad == nil && worse == nil && first.sameOrigin(second)
}

type roundTripper struct{ client *Client }

// RoundTrip implements [http.RoundTripper].
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	k, err := t.client.begin()
	if err != nil {
		closeBody(req)
		return nil, err
	}
	ctx, cancel := context.WithTimeout(req.Context(), t.client.options.Timeout)
	defer cancel()
	giveUp := context.AfterFunc(ctx, func() { closeBody(req) }) // a body may never come to its end
	h, err := toolHop(req, t.client.options.RequestBytes)
	giveUp()
	if err != nil {
		return nil, k.refuse(h, k.explain(ctx, h, err))
	}
	got, err := k.exchange(ctx, h)
	if err != nil {
		return nil, err
	}
	return got.forGo(req), nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// toolHop reads a request of Go code; its body is closed in any case.
func toolHop(req *http.Request, maxBody int64) (h hop, err error) {
	defer closeBody(req)
	h.redirected = req.Response != nil
	var denied *DeniedError
	if req.URL == nil || req.URL.Opaque != "" || req.URL.User != nil {
		return h, deny(KindURL, "the URL must be absolute, without a user name or password")
	}
	if h.target, denied = parseTarget(req.URL.String()); denied != nil {
		return h, denied
	}
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	method, ok := normalMethod(method)
	if !ok {
		return h, deny(KindMethod, "the method must be the name of one, and not CONNECT, TRACE or TRACK")
	}
	h.method = method
	if denied := checkFraming(req, h.target); denied != nil {
		return h, denied
	}
	h.header = http.Header{}
	for name, values := range req.Header {
		name = canonicalName(name)
		h.header[name] = append(h.header[name], values...)
	}
	h.header.Del("Accept-Encoding")
	if denied := h.afterRedirect(req); denied != nil {
		return h, denied
	}
	if req.Body == nil {
		return h, nil
	}
	h.body, err = io.ReadAll(&limited{inner: req.Body, left: maxBody, over: deny(KindBody, "the request's body must be at most %d bytes", maxBody)})
	if err != nil {
		if denied, is := err.(*DeniedError); is {
			return h, denied
		}
		return h, fail(err, "the request's body could not be read")
	}
	return h, nil
}

// checkFraming refuses what would make the message another one than its URL and
// body say.
func checkFraming(req *http.Request, t target) *DeniedError {
	if req.Host != "" {
		same, denied := parseTarget(t.scheme + "://" + req.Host)
		if denied != nil || !same.sameOrigin(t) || same.path.text != "/" {
			return deny(KindHeader, "the header host may not be set")
		}
	}
	if len(req.TransferEncoding) > 0 || len(req.Trailer) > 0 {
		return deny(KindHeader, "transfer encodings and trailers may not be set")
	}
	return nil
}

// afterRedirect holds the rules of redirects for clients that do not check them:
// http.Client says which response a request comes from. It takes headers from the
// first request, so all of the chain counts.
func (h *hop) afterRedirect(req *http.Request) *DeniedError {
	for earlier := req; earlier.Response != nil && earlier.Response.Request != nil; {
		earlier = earlier.Response.Request
		before, denied := parseTarget(earlier.URL.String())
		if denied != nil {
			return denied
		}
		if before.scheme == "https" && h.target.scheme == "http" {
			return deny(KindRedirect, "%s redirects from https to http", before.authority())
		}
		if !before.sameOrigin(h.target) {
			withoutCredentials(h.header)
		}
	}
	return nil
}

func (a *answer) forGo(req *http.Request) *http.Response {
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", a.status, a.statusText),
		StatusCode:    a.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.header,
		Body:          io.NopCloser(bytes.NewReader(a.body)),
		ContentLength: int64(len(a.body)),
		Request:       req,
	}
}
