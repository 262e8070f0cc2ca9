package egress

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGoCodeIsUnderTheSameRules(t *testing.T) {
	t.Parallel()
	const body = "body"
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "id=1")
		w.WriteHeader(http.StatusAccepted)
		echo(w, r)
	}, withSecret)
	client := w.client().HTTPClient()
	req, err := http.NewRequest("PUT", apiURL+"/x?y", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Cookie", "own=1")
	req.Header.Set("Accept-Encoding", "br")
	res, err := client.Do(req)
	require.NoError(t, err)
	got, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	assert.Equal(t, "202 Accepted", res.Status)
	assert.Equal(t, int64(len(got)), res.ContentLength)
	assert.Equal(t, "id=1", res.Header.Get("Set-Cookie"), "Go code may see cookies; nothing keeps them")
	assert.Nil(t, client.Jar)
	text := string(got)
	assert.True(t, strings.HasPrefix(text, "PUT /x?y\n"), text)
	for _, part := range []string{"Cookie: own=1", "Accept-Encoding: gzip, deflate", "Authorization: Bearer [secret]", "\n" + body} {
		assert.Contains(t, text, part)
	}
	assert.Empty(t, res.Request.Header.Get("Authorization"), "the caller's request does not show the secret")
}

func TestATraceDoesNotSeeSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, withSecret)
	var seen []string
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		WroteHeaderField: func(name string, _ []string) { seen = append(seen, name) },
	})
	req, err := http.NewRequestWithContext(ctx, "GET", apiURL, nil)
	require.NoError(t, err)
	res, err := w.client().HTTPClient().Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	assert.Contains(t, string(body), "Authorization: ", "it was sent")
	assert.Empty(t, seen)
}

func TestABodyThatNeverEndsIsGivenUpInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "api.example.com:443")
	w.options.Timeout = 100 * time.Millisecond
	body, writer := io.Pipe()
	defer writer.Close()
	req, err := http.NewRequest("POST", apiURL, body)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := w.client().HTTPClient().Transport.RoundTrip(req)
		done <- err
	}()
	select {
	case err := <-done:
		assert.ErrorContains(t, err, "the request to api.example.com:443 took too long")
	case <-time.After(10 * time.Second):
		t.Fatal("the request has no end")
	}
}

func TestGoCodeCannotLeadARequestAstray(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(r *http.Request)
		kind   Kind
	}{
		"host override":        {func(r *http.Request) { r.Host = "evil.test" }, KindHeader},
		"host with a path":     {func(r *http.Request) { r.Host = "api.example.com/x" }, KindHeader},
		"host with a port":     {func(r *http.Request) { r.Host = "api.example.com:80" }, KindHeader},
		"host header":          {func(r *http.Request) { r.Header["host"] = []string{"evil.test"} }, KindHeader},
		"opaque URL":           {func(r *http.Request) { r.URL = &url.URL{Scheme: "https", Opaque: "//evil.test/"} }, KindURL},
		"user in the URL":      {func(r *http.Request) { r.URL.User = url.User("x") }, KindURL},
		"another host":         {func(r *http.Request) { r.URL.Host = "evil.test" }, KindHeader},
		"address as a number":  {func(r *http.Request) { r.URL.Host, r.Host = "2130706433", "" }, KindURL},
		"host with a slash":    {func(r *http.Request) { r.URL.Host, r.Host = "evil.test/.example.com", "" }, KindURL},
		"no host":              {func(r *http.Request) { r.URL.Host, r.Host = "", "" }, KindURL},
		"no URL":               {func(r *http.Request) { r.URL = nil }, KindURL},
		"CONNECT":              {func(r *http.Request) { r.Method = "CONNECT" }, KindMethod},
		"chunked":              {func(r *http.Request) { r.TransferEncoding = []string{"chunked"} }, KindHeader},
		"trailer":              {func(r *http.Request) { r.Trailer = http.Header{"X": nil} }, KindHeader},
		"line break":           {func(r *http.Request) { r.Header["X-A"] = []string{"a\r\nb"} }, KindHeader},
		"bad name":             {func(r *http.Request) { r.Header["X A"] = []string{"a"} }, KindHeader},
		"upgrade":              {func(r *http.Request) { r.Header.Set("Upgrade", "h2c") }, KindHeader},
		"proxy header":         {func(r *http.Request) { r.Header["proxy-authorization"] = []string{"x"} }, KindHeader},
		"rule's header":        {func(r *http.Request) { r.Header["authorization"] = []string{"x"} }, KindHeader},
		"part of an echo":      {func(r *http.Request) { r.Header["rANGE"] = []string{"bytes=0-1"} }, KindHeader},
		"body over the limit":  {func(r *http.Request) { r.Body = io.NopCloser(endless{}) }, KindBody},
		"dot segments in path": {func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/v1/../x", "" }, KindPath},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, `api.example.com:443/v1 header="Authorization: Bearer {{secret:API}}"`)
			req, err := http.NewRequest("POST", apiURL+"/v1", nil)
			require.NoError(t, err)
			c.change(req)
			_, err = w.client().HTTPClient().Transport.RoundTrip(req)
			denied, ok := errors.AsType[*DeniedError](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, c.kind, denied.Kind, denied.Reason)
			assert.Empty(t, w.dialed)
			assert.Len(t, w.denied, 1)
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestRedirectsOfGoCodeAreCheckedToo(t *testing.T) {
	t.Parallel()
	get := func(t *testing.T, location string, bare bool, rules ...string) (string, *world, error) {
		w := newWorld(t, redirectTo(http.StatusFound, location), rules...)
		client := w.client().HTTPClient()
		if bare { // a client of the tool's own, with our transport
			client = &http.Client{Transport: client.Transport}
		}
		req, err := http.NewRequest("GET", apiURL+"/", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "own")
		req.Header.Set("X-Own", "stays")
		res, err := client.Do(req)
		if err != nil {
			return "", w, err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return string(body), w, err
	}
	for _, bare := range []bool{false, true} {
		for location, kind := range map[string]Kind{
			"https://evil.test/": KindHost, "https://127.0.0.1/": KindHost, "http://api.example.com/": KindRedirect, "https://x@api.example.com/": KindURL,
		} {
			_, w, err := get(t, location, bare, "api.example.com:443", "http://api.example.com:80")
			denied, ok := errors.AsType[*DeniedError](err)
			require.True(t, ok, "%s: %v", location, err)
			assert.Equal(t, kind, denied.Kind)
			require.Len(t, w.denied, 1)
			assert.True(t, w.denied[0].Redirected)
		}
		body, _, err := get(t, "https://other.example.com/", bare, "api.example.com:443", "other.example.com:443")
		require.NoError(t, err)
		assert.Contains(t, body, "X-Own: stays")
		assert.NotContains(t, body, "Authorization")
		assert.NotContains(t, body, "Referer")
	}
	_, w, err := get(t, "/again", false, "api.example.com:443")
	failed, ok := errors.AsType[*FailedError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, "more than 5 redirects", failed.Reason)
	assert.Len(t, w.dialed, 6)
}

// TestCredentialsAreNotCarriedBelowTheirHost is where net/http alone would carry
// them: to the hosts below the first one.
func TestCredentialsAreNotCarriedBelowTheirHost(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/first" {
				http.Redirect(w, r, "/second", http.StatusFound)
				return
			}
			echo(w, r)
		}, "example.com:443", "*.example.com:443")
		w.names["example.com"] = [][]string{{"93.184.216.40"}}
		w.serveTLS("93.184.216.40", redirectTo(http.StatusFound, apiURL+"/first"))
		client := w.client().HTTPClient()
		if bare {
			client = &http.Client{Transport: client.Transport}
		}
		req, err := http.NewRequest("GET", "https://example.com/", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "own")
		res, err := client.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		assert.Contains(t, string(body), "GET /second\nHost: api.example.com")
		assert.NotContains(t, string(body), "Authorization")
	}
}

func TestTimeIsBoundedForAClientThatBoundsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "api.example.com:443")
	w.options.Timeout = 100 * time.Millisecond
	client := &http.Client{Transport: w.client().HTTPClient().Transport}
	_, err := client.Get(apiURL)
	var failed *FailedError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "the request to api.example.com:443 took too long", failed.Reason)
}

func TestAConnectionIsForOneRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "api.example.com:443")
	client := w.client().HTTPClient()
	for range 3 {
		res, err := client.Get(apiURL)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	assert.Len(t, w.dialed, 3)
	assert.Len(t, w.asked, 3)
}
