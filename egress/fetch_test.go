package egress

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/taint"
)

func TestFetchSendsARequestAndGivesItsResponse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "api.example.com", r.TLS.ServerName, "the name is that of the URL")
		assert.Equal(t, "HTTP/1.1", r.Proto)
		w.Header().Add("X-B", "2")
		w.Header().Add("X-B", "1")
		w.Header().Set("X-A", "a")
		w.WriteHeader(http.StatusCreated)
		echo(w, r)
	}, "api.example.com:8443")
	got, err := w.fetch(&Request{
		URL: "https://API.example.com:8443/a%20b?q=ü&x=%zz#frag", Method: "post", Body: []byte("body"),
		Headers: [][2]string{{"x-own", " 1 "}, {"X-Own", "2"}, {"content-type", "text/plain"}},
	})
	require.NoError(t, err)
	assert.Equal(t, strings.ReplaceAll(`POST /a%20b?q=%C3%BC&x=%zz
Host: api.example.com:8443
Accept-Encoding: gzip, deflate
Connection: close
Content-Length: 4
Content-Type: text/plain
User-Agent: sandboxd
X-Own: 1
X-Own: 2

body`, "\r", ""), strings.ReplaceAll(string(got.Body), "\r", ""))
	got.Body = nil
	for i, h := range got.Headers {
		if h[0] == "date" {
			got.Headers[i][1] = "now"
		}
	}
	assert.Equal(t, &Response{
		URL: "https://api.example.com:8443/a%20b?q=%C3%BC&x=%zz", Status: 201, StatusText: "Created", Origin: "fetch:api.example.com",
		Headers: [][2]string{{"content-length", "197"}, {"content-type", "text/plain; charset=utf-8"}, {"date", "now"}, {"x-a", "a"}, {"x-b", "2"}, {"x-b", "1"}},
	}, got)
	assert.NoError(t, taint.CheckOrigin(got.Origin))
}

// TestRedirectsKeepTheRulesOfTheFetchStandard follows each status with each kind
// of method.
func TestRedirectsKeepTheRulesOfTheFetchStandard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status       int
		method, then string
		body         bool
	}{
		{301, "POST", "GET", false}, {302, "POST", "GET", false}, {303, "POST", "GET", false},
		{307, "POST", "POST", true}, {308, "POST", "POST", true},
		{301, "PUT", "PUT", true}, {302, "PATCH", "PATCH", true}, {303, "PUT", "GET", false}, {303, "DELETE", "GET", false},
		{301, "GET", "GET", false}, {303, "GET", "GET", false}, {307, "HEAD", "HEAD", false}, {303, "HEAD", "HEAD", false},
	} {
		w := newWorld(t, redirectTo(c.status, "https://other.example.com/to?x#y"), "api.example.com:443", "other.example.com:443")
		var seen *http.Request
		var body []byte
		w.serveTLS(otherAddr, func(_ http.ResponseWriter, r *http.Request) {
			seen = r.Clone(context.Background())
			body, _ = io.ReadAll(r.Body)
		})
		request := &Request{URL: apiURL, Method: c.method, Headers: [][2]string{{"Content-Type", "text/x"}, {"X-Own", "1"}}}
		if c.method != "GET" && c.method != "HEAD" {
			request.Body = []byte("body")
		}
		got, err := w.fetch(request)
		require.NoError(t, err)
		assert.True(t, got.Redirected)
		assert.Equal(t, "https://other.example.com/to?x", got.URL)
		assert.Equal(t, c.then, seen.Method, "%d after %s", c.status, c.method)
		assert.Equal(t, c.body, string(body) == "body", "%d after %s", c.status, c.method)
		assert.Equal(t, "1", seen.Header.Get("X-Own"))
		kept := c.body || c.then == c.method
		assert.Equal(t, kept, seen.Header.Get("Content-Type") != "", "%d after %s", c.status, c.method)
	}
}

func TestCredentialsStayWithinTheirOrigin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/to" {
			http.Redirect(w, r, "/to", http.StatusFound)
			return
		}
		echo(w, r)
	}, "api.example.com:443")
	got, err := w.fetch(&Request{URL: apiURL, Headers: [][2]string{{"Authorization", "Basic b3duOm93bg=="}}})
	require.NoError(t, err)
	assert.Contains(t, string(got.Body), "Authorization: Basic b3duOm93bg==", "the origin is the same")

	first, denied := parseTarget(apiURL)
	require.Nil(t, denied)
	for _, other := range []string{"https://other.example.com", "https://api.example.com:8443", "https://sub.api.example.com"} {
		k := &call{}
		next, denied := k.follow(hop{target: first, method: "GET", header: http.Header{
			"Authorization": {"x"}, "Cookie": {"x"}, "Proxy-Authorization": {"x"}, "X-Own": {"x"},
		}}, &answer{status: 302, location: other})
		require.Nil(t, denied)
		assert.Equal(t, http.Header{"X-Own": {"x"}}, next.header, other)
	}
}

func TestRedirectsCanBeRefusedOrShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redirectTo(302, "/to"), "api.example.com:443")
	_, err := w.fetch(&Request{URL: apiURL, Redirect: "error"})
	failed, ok := errors.AsType[*FailedError](err)
	require.True(t, ok)
	assert.Equal(t, "api.example.com:443 answered with a redirect", failed.Reason)

	got, err := w.fetch(&Request{URL: apiURL, Redirect: "manual"})
	require.NoError(t, err)
	assert.Equal(t, 302, got.Status)
	assert.False(t, got.Redirected)
	assert.Contains(t, got.Headers, [2]string{"location", "/to"})

	w = newWorld(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) }, "api.example.com:443")
	got, err = w.fetch(&Request{URL: apiURL})
	require.NoError(t, err)
	assert.Equal(t, 302, got.Status, "there is nowhere to go")
}

func TestAsManyRedirectsAreFollowedAsAreAllowed(t *testing.T) {
	t.Parallel()
	for length, ok := range map[int]bool{2: true, 3: false} {
		w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
			if len(r.URL.Path) <= length {
				http.Redirect(w, r, r.URL.Path+"a", http.StatusFound)
			}
		}, "api.example.com:443")
		w.options.MaxRedirects = 2
		_, err := w.fetch(&Request{URL: apiURL})
		assert.Equal(t, ok, err == nil, "%d redirects: %v", length, err)
	}
}

func TestAFailureSaysWhatHappenedWithoutAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "api.example.com:443", "nowhere.example.com:443", "unreachable.example.com:443")
	w.names["unreachable.example.com"] = [][]string{{"93.184.216.99"}}
	for host, want := range map[string]string{
		"nowhere.example.com":     "no address was found for nowhere.example.com",
		"unreachable.example.com": "connection to unreachable.example.com:443 failed",
	} {
		_, err := w.fetch(&Request{URL: "https://" + host})
		failed, ok := errors.AsType[*FailedError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, want, failed.Reason)
		assert.Equal(t, "egress: "+want, err.Error())
		require.Error(t, errors.Unwrap(err), "the operator can see the cause")
	}
	assert.Empty(t, w.denied, "what was allowed and failed is no refusal")
}

func TestACallerThatGoesAwayEndsItsRequest(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	}, "api.example.com:443")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := w.client().Fetch(ctx, &Request{URL: apiURL})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "egress: the request to api.example.com:443 was cancelled", err.Error())
}

func TestTimeIsBoundedInAllAndForConnecting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "api.example.com:443", "http://other.example.com")
	w.options.Timeout = 100 * time.Millisecond
	_, err := w.fetch(&Request{URL: apiURL})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, "egress: the request to api.example.com:443 took too long", err.Error())

	// A name server and a TLS handshake that never end.
	w.options.Timeout, w.options.ConnectTimeout = 0, 100*time.Millisecond
	w.options.Resolver = never{}
	_, err = w.fetch(&Request{URL: apiURL})
	require.Error(t, err)
	assert.Equal(t, "egress: api.example.com:443 did not respond in time", err.Error())

	w.options.Resolver = w
	w.serveRaw(apiAddr, func(conn netConn) { _, _ = io.Copy(io.Discard, conn) })
	_, err = w.fetch(&Request{URL: apiURL})
	require.Error(t, err)
	assert.Equal(t, "egress: api.example.com:443 did not respond in time", err.Error())
}

func TestAnOriginIsAlwaysOneThatALabelCanHave(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(strings.Repeat("a", 62)+".", 3) + strings.Repeat("b", 50) + ".example"
	for host, want := range map[string]string{"api.example.com": "fetch:api.example.com", "[::1]": "fetch:::1", long: ""} {
		at, denied := parseTarget("https://" + host)
		require.Nil(t, denied, host)
		origin := originOf(at)
		require.NoError(t, taint.CheckOrigin(origin), origin)
		if want != "" {
			assert.Equal(t, want, origin)
		} else {
			assert.True(t, strings.HasPrefix(origin, "fetch:…") && strings.HasSuffix(origin, "b.example"), origin)
		}
	}
}
