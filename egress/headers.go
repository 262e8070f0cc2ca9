package egress

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// canonicalName is the form of a header's name in [http.Header].
func canonicalName(name string) string { return textproto.CanonicalMIMEHeaderKey(name) }

// ofConnection reports whether nobody but this package sets the header: it says
// where a message ends, which host or path it is for, what becomes of the
// connection, or which method is really meant, and so could lead around a check.
func ofConnection(canonical string) bool {
	name := strings.ReplaceAll(lowerASCII(canonical), "_", "-")
	switch name {
	case "host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "expect",
		"keep-alive", "via", "http2-settings", "accept-encoding", "early-data", "alt-used",
		"x-http-method", "x-http-method-override", "x-method-override", "x-http-host-override", "x-http-path-override",
		"x-rewrite-url", "x-override-url", "x-host", "x-real-ip", "forwarded",
		"x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "fastly-client-ip":
		return true
	}
	for _, prefix := range []string{"proxy-", "x-forwarded-", "x-original-", "x-envoy-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// notForScripts reports whether the fetch standard keeps the header from scripts.
func notForScripts(canonical string) bool {
	name := strings.ReplaceAll(lowerASCII(canonical), "_", "-")
	switch name {
	case "accept-charset", "access-control-request-headers", "access-control-request-method",
		"cookie", "cookie2", "set-cookie", "set-cookie2", "date", "dnt", "origin", "referer":
		return true
	}
	return strings.HasPrefix(name, "sec-")
}

// credential reports whether the header is never carried to another origin. The
// referrer is a whole URL here, with what its query holds: http.Client sets it.
func credential(canonical string) bool {
	switch canonical {
	case "Authorization", "Cookie", "Cookie2", "Www-Authenticate", "Referer":
		return true
	}
	return strings.HasPrefix(canonical, "Proxy-")
}

// scriptHeaders checks the headers that a script gives.
func scriptHeaders(pairs [][2]string) (http.Header, *DeniedError) {
	header := http.Header{}
	for _, p := range pairs {
		name, value := p[0], strings.Trim(p[1], " \t")
		if !httpguts.ValidHeaderFieldName(name) || len(name) > 256 {
			return nil, deny(KindHeader, "a header's name must be 1 to 256 letters, digits and hyphens")
		}
		if notForScripts(canonicalName(name)) {
			return nil, deny(KindHeader, "the header %s may not be set", lowerASCII(name))
		}
		header.Add(name, value)
	}
	return header, checkHeaders(header)
}

// checkHeaders checks what a script or a tool gives.
func checkHeaders(header http.Header) *DeniedError {
	count, size := 0, 0
	for name, values := range header {
		if !httpguts.ValidHeaderFieldName(name) || len(name) > 256 {
			return deny(KindHeader, "a header's name must be 1 to 256 letters, digits and hyphens")
		}
		if ofConnection(canonicalName(name)) {
			return deny(KindHeader, "the header %s may not be set", lowerASCII(name))
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return deny(KindHeader, "the value of the header %s must be one line of text", lowerASCII(name))
			}
			count++
			size += len(name) + len(v)
		}
	}
	if count > MaxRequestHeaders || size > MaxRequestHeaderBytes {
		return deny(KindHeader, "the headers must be at most %d and %d bytes", MaxRequestHeaders, MaxRequestHeaderBytes)
	}
	return nil
}

// checkAgainst refuses headers that belong to the rule.
func checkAgainst(r *rule, header http.Header) *DeniedError {
	for name := range header {
		if r.sets(name) {
			return deny(KindHeader, "the header %s may not be set for this host: it is added to each request", lowerASCII(name))
		}
	}
	if _, ok := header["Destination"]; ok && r.PathPrefix != "" {
		return deny(KindHeader, "the header destination may not be set for this host: it is a second path")
	}
	if r.hasSecrets() {
		// Parts of a response that echoes a secret would each escape the mask.
		for _, name := range []string{"Range", "If-Range"} {
			if _, ok := header[name]; ok {
				return deny(KindHeader, "the header %s may not be set for this host", lowerASCII(name))
			}
		}
	}
	return nil
}

// withoutCredentials takes out what is never carried to another origin.
func withoutCredentials(header http.Header) {
	for name := range header {
		if credential(canonicalName(name)) {
			delete(header, name)
		}
	}
}

// withoutBody takes out what describes a body that is no longer sent.
func withoutBody(header http.Header) {
	for _, name := range []string{"Content-Encoding", "Content-Language", "Content-Location", "Content-Type"} {
		header.Del(name)
	}
}

// forScript lists response headers as a script sees them: names in lower case and
// in order, without cookies.
func forScript(header http.Header) [][2]string {
	out := [][2]string{}
	for name, values := range header {
		name = lowerASCII(name)
		if name == "set-cookie" || name == "set-cookie2" {
			continue
		}
		for _, v := range values {
			out = append(out, [2]string{name, v})
		}
	}
	slices.SortStableFunc(out, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return out
}
