package egress

import (
	"context"
	"net/http"
	"net/url"

	"github.com/loom-sandbox/sandboxd/taint"
)

// Request is what a script asks for.
type Request struct {
	URL    string // absolute, with https:// or http://
	Method string // in any case; empty: GET
	// Headers are names and values, in order; a name may come more than once.
	Headers [][2]string
	Body    []byte // none for GET and HEAD
	// Redirect is "follow", "error" or "manual", which gives the redirect itself.
	// Empty: "follow".
	Redirect string
}

// Response is what a script gets. It was read to its end, and every secret in it
// is masked.
type Response struct {
	URL        string // of the last request, without a fragment
	Status     int
	StatusText string // as the server wrote it; often empty
	Redirected bool
	// Headers are names in lower case and values, in order of name. Cookies are
	// left out.
	Headers [][2]string
	Body    []byte // decompressed; never nil
	// Origin labels what is in the response, for package taint: "fetch:" and the
	// host that gave it, joined with those that redirected to it: they chose its URL.
	Origin string
}

// Fetch sends a request and follows redirects as the fetch standard does. Each
// request is checked by the rules. The error is a [*DeniedError] if one was
// refused, and a [*FailedError] otherwise, also if ctx has ended.
func (c *Client) Fetch(ctx context.Context, request *Request) (*Response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	k, err := c.begin()
	if err != nil {
		return nil, err
	}
	h, denied := firstHop(request)
	if denied != nil {
		return nil, k.refuse(h, denied)
	}
	var from []string
	for followed := 0; ; followed++ {
		from = append(from, originOf(h.target))
		got, err := k.exchange(ctx, h)
		if err != nil {
			return nil, err
		}
		switch {
		case !isRedirect(got.status) || request.Redirect == "manual":
			return k.response(h, got, from), nil
		case request.Redirect == "error":
			return nil, fail(nil, "%s answered with a redirect", h.target.authority())
		case got.location == "":
			return k.response(h, got, from), nil
		}
		if followed == c.options.MaxRedirects {
			return nil, fail(nil, "more than %d redirects", c.options.MaxRedirects)
		}
		next, denied := k.follow(h, got)
		if denied != nil {
			return nil, k.refuse(next, denied)
		}
		h = next
	}
}

// firstHop checks what needs no rule. What it could read comes back with a
// refusal too.
func firstHop(request *Request) (h hop, denied *DeniedError) {
	method, ok := request.Method, true
	if method == "" {
		method = http.MethodGet
	}
	if method, ok = normalMethod(method); !ok {
		return h, deny(KindMethod, "the method must be the name of one, and not CONNECT, TRACE or TRACK")
	}
	h.method = method
	switch request.Redirect {
	case "", "follow", "error", "manual":
	default:
		return h, deny(KindRedirect, "redirect must be follow, error or manual")
	}
	if h.target, denied = parseTarget(request.URL); denied != nil {
		return h, denied
	}
	if h.header, denied = scriptHeaders(request.Headers); denied != nil {
		return h, denied
	}
	if len(request.Body) > 0 && (method == http.MethodGet || method == http.MethodHead) {
		return h, deny(KindBody, "a request with %s has no body", method)
	}
	h.body = request.Body
	return h, nil
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follow makes the request that a redirect leads to.
func (k *call) follow(h hop, got *answer) (next hop, denied *DeniedError) {
	next = hop{method: h.method, redirected: true}
	if next.target, denied = resolve(h.target, got.location); denied != nil {
		return next, denied
	}
	if h.target.scheme == "https" && next.target.scheme == "http" {
		return next, deny(KindRedirect, "%s redirects from https to http", h.target.authority())
	}
	next.header, next.body = h.header.Clone(), h.body
	post := h.method == http.MethodPost && (got.status == http.StatusMovedPermanently || got.status == http.StatusFound)
	other := h.method != http.MethodGet && h.method != http.MethodHead && got.status == http.StatusSeeOther
	if post || other {
		next.method, next.body = http.MethodGet, nil
		withoutBody(next.header)
	}
	if next.target.sameOrigin(h.target) {
		return next, nil
	}
	withoutCredentials(next.header)
	if to := next.target.url().String(); k.mask.text(to) != to {
		return next, deny(KindRedirect, "%s redirects with a secret to another origin", h.target.authority())
	}
	return next, nil
}

// resolve reads a redirect's location, which may be relative. What net/url makes
// of it is read strictly again, so the two need not agree on odd text.
func resolve(base target, location string) (target, *DeniedError) {
	if len(location) > MaxURLBytes || !plainText(location) {
		return target{}, deny(KindURL, "%s redirects to a URL that is not valid", base.authority())
	}
	reference, err := url.Parse(location)
	if err != nil {
		return target{}, deny(KindURL, "%s redirects to a URL that is not valid", base.authority())
	}
	to, denied := parseTarget(base.url().ResolveReference(reference).String())
	if denied != nil {
		return target{}, deny(KindURL, "%s redirects to a URL that is not allowed: %s", base.authority(), denied.Reason)
	}
	return to, nil
}

func (k *call) response(h hop, got *answer, from []string) *Response {
	return &Response{
		URL:        k.mask.text(h.target.url().String()),
		Status:     got.status,
		StatusText: got.statusText,
		Redirected: h.redirected,
		Headers:    forScript(got.header),
		Body:       got.body,
		Origin:     taint.Join(from...),
	}
}

// originOf names the host. A name may be longer than an origin: its end says who
// it belongs to.
func originOf(t target) string {
	origin := "fetch:" + t.host.name
	if taint.CheckOrigin(origin) != nil {
		origin = "fetch:…" + t.host.name[max(0, len(t.host.name)-taint.MaxOriginLength+len("fetch:…")):]
	}
	return origin
}
