package egress

import (
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// FuzzParseRule demands that a rule that is read can be written and read again,
// and that it says nothing that a rule must not say.
func FuzzParseRule(f *testing.F) {
	for _, text := range []string{
		"api.example.com:443", "GET,HEAD *.example.com:443/public", "http://build.internal:8080 dangerously-allow-private-addresses",
		`api.example.com:443/v1 header="Authorization: Bearer {{secret:API}}"`, "[::1]:80", "https://bücher.example/é/%2e/x",
		`a.test header="X-A: \"\\" header="X-B: é"`, "PURGE A.TEST.", "*.127.0.0.1", "a.test/..;/", "GET", "http://*.a.test:1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRule(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q gives an error of two lines", text)
			}
			return
		}
		again, err := ParseRule(r.String())
		if err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("%q is read as %#v, written as %q and read as %#v (%v)", text, r, r.String(), again, err)
		}
		compiled, err := newRule(r)
		if err != nil || !reflect.DeepEqual(compiled.Rule, r) {
			t.Fatalf("%q is not in normal form: %#v, %#v", text, r, compiled.Rule)
		}
		if r.Port == 0 || r.Host == "" || r.Host == "*." || strings.Contains(r.PathPrefix, "..") && strings.Contains(r.PathPrefix+"/", "/../") {
			t.Fatalf("%q is read as %#v", text, r)
		}
	})
}

// FuzzWhatIsAllowedIsWithinARule reads a URL, matches it, and then looks at the
// request that would go out with code that shares nothing with the matcher: its
// host and port must stand in a rule literally, and its path be below the rule's.
func FuzzWhatIsAllowedIsWithinARule(f *testing.F) {
	for _, a := range append(urlAttacks(), redirectAttacks()...) {
		f.Add(a.request.URL, "GET")
	}
	for _, u := range []string{
		"https://api.example.com/v1/x", "https://a.b.example.org:8443/x", "http://127.0.0.1:80/", "https://[::1]:444/", "https://bücher.example/",
		"HTTPS://API.EXAMPLE.COM./v1", "https://api.example.com/v1/%2e%2e/v1/../v1",
	} {
		f.Add(u, "POST")
	}
	rules := newRules(f,
		"GET,POST api.example.com:443/v1", "*.example.org:8443", "http://127.0.0.1:80", "[::1]:444", "https://bücher.example",
	)
	f.Fuzz(func(t *testing.T, text, method string) {
		at, denied := parseTarget(text)
		method, ok := normalMethod(method)
		if denied != nil || !ok {
			return
		}
		r, denied := match(rules, at, method)
		if denied != nil {
			return
		}
		k := &call{client: &Client{}}
		sent := k.request(t.Context(), hop{target: at, method: method, header: http.Header{}}, r)
		if !withinSimply(sent) {
			t.Fatalf("%q with %s goes to %s (Host %s) by %s", text, method, sent.URL, sent.Host, r)
		}
		if u, err := url.Parse(sent.URL.String()); err != nil || u.Host != sent.Host || u.RequestURI() != sent.URL.RequestURI() || u.User != nil {
			t.Fatalf("%q is read in another way by net/url: %v", sent.URL, u)
		}
		if again, denied := parseTarget(sent.URL.String()); denied != nil || again != at {
			t.Fatalf("%q is not in normal form: %+v, %+v (%v)", text, at, again, denied)
		}
		if literal, err := netip.ParseAddr(sent.URL.Hostname()); err == nil && at.host.addr != literal {
			t.Fatalf("%q is an address that was not seen", sent.URL)
		}
	})
}

// withinSimply says the same as the rules of the fuzz target, by hand.
func withinSimply(r *http.Request) bool {
	port := r.URL.Port()
	if port == "" {
		port = strconv.Itoa(map[string]int{"https": 443, "http": 80}[r.URL.Scheme])
	}
	path := r.URL.EscapedPath()
	switch r.URL.Scheme + "://" + r.URL.Hostname() + ":" + port {
	case "https://api.example.com:443":
		return (r.Method == "GET" || r.Method == "POST") && (path == "/v1" || strings.HasPrefix(path, "/v1/")) &&
			!strings.Contains(path+"/", "/../") && !strings.Contains(path+"/", "/./") && !strings.Contains(path, "//") &&
			!strings.Contains(strings.ToLower(path), "%2f") && !strings.Contains(strings.ToLower(path), "%5c")
	case "http://127.0.0.1:80", "https://::1:444", "https://xn--bcher-kva.example:443":
		return true
	}
	name, ok := strings.CutSuffix(r.URL.Hostname(), ".example.org")
	return ok && name != "" && r.URL.Scheme == "https" && port == "8443" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}
