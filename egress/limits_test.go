package egress

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLimitsAreExactToTheByte(t *testing.T) {
	t.Parallel()
	const limit = 1000
	text := func(n int) []byte { return bytes.Repeat([]byte("a"), n) }
	send := func(body []byte, encoding string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if encoding != "" {
				w.Header().Set("Content-Encoding", encoding)
			}
			w.(http.Flusher).Flush() // so that no length is said
			_, _ = w.Write(body)
		}
	}
	for name, c := range map[string]struct {
		options func(o *Options, n int)
		api     func(n int) http.HandlerFunc
		request func(n int) *Request
		reason  string
	}{
		"received": {
			options: func(o *Options, n int) { o.ResponseBytes = int64(n) },
			api:     func(n int) http.HandlerFunc { return send(text(n), "") },
			reason:  "the response of api.example.com:443 is larger than 1000 bytes",
		},
		"after decompression": {
			options: func(o *Options, n int) { o.DecodedBytes = int64(n) },
			api:     func(n int) http.HandlerFunc { return send(bomb(t, n, toGzip), "gzip") },
			reason:  "the response of api.example.com:443 is larger than 1000 bytes after decompression",
		},
		"not compressed": {
			options: func(o *Options, n int) { o.DecodedBytes = int64(n) },
			api:     func(n int) http.HandlerFunc { return send(text(n), "") },
			reason:  "the response of api.example.com:443 is larger than 1000 bytes after decompression",
		},
		"request": {
			options: func(o *Options, n int) { o.RequestBytes = int64(n) },
			api:     func(int) http.HandlerFunc { return nil },
			request: func(n int) *Request { return &Request{URL: apiURL, Method: "PUT", Body: text(n)} },
			reason:  "the request's body must be at most 1000 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n, ok := range map[int]bool{limit - 1: true, limit: true, limit + 1: false} {
				w := newWorld(t, c.api(n), "api.example.com:443")
				c.options(&w.options, limit)
				request := &Request{URL: apiURL}
				if c.request != nil {
					request = c.request(n)
				}
				got, err := w.fetch(request)
				if ok {
					require.NoError(t, err, "%d bytes", n)
					assert.GreaterOrEqual(t, len(got.Body), n)
					continue
				}
				require.Error(t, err, "%d bytes", n)
				assert.True(t, strings.HasSuffix(err.Error(), ": "+c.reason), "%v", err)
			}
		})
	}
}

func TestACompressedBodyIsBoundedAsItIsReceivedToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, encoded("gzip", bomb(t, 1<<20, toGzip)), "api.example.com:443")
	w.options.ResponseBytes, w.options.DecodedBytes = 100, 1<<30
	_, err := w.fetch(&Request{URL: apiURL})
	require.ErrorIs(t, err, errReceivedLimit)
}

func TestABombIsNotUnpackedBeyondItsLimit(t *testing.T) {
	t.Parallel()
	body := bomb(t, 64<<20, toGzip)
	read := &counter{inner: bytes.NewReader(body)}
	_, err := readBody(&http.Response{
		Header: http.Header{"Content-Encoding": {"gzip"}}, Body: io.NopCloser(read), ContentLength: -1, Request: &http.Request{},
	}, 1<<30, 100<<10)
	require.ErrorIs(t, err, errDecodedLimit)
	assert.Less(t, read.n, len(body)/10, "the rest is not even read")
}

type counter struct {
	inner io.Reader
	n     int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.inner.Read(p)
	c.n += n
	return n, err
}

func TestBodiesAreDecoded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		encoding string
		to       func(w io.Writer) io.WriteCloser
	}{
		"gzip": {"gzip", toGzip}, "in capitals": {"GZip", toGzip}, "old name": {"x-gzip", toGzip},
		"deflate": {"deflate", toZlib}, "deflate without its header": {"deflate", toFlate},
	} {
		w := newWorld(t, encoded(c.encoding, bomb(t, 5000, c.to)), "api.example.com:443")
		got, err := w.fetch(&Request{URL: apiURL})
		require.NoError(t, err, name)
		assert.Equal(t, make([]byte, 5000), got.Body, name)
		for _, h := range got.Headers {
			assert.NotContains(t, []string{"content-encoding", "content-length"}, h[0], name)
		}
	}
	w := newWorld(t, encoded("identity", []byte("x")), "api.example.com:443")
	got, err := w.fetch(&Request{URL: apiURL})
	require.NoError(t, err)
	assert.Equal(t, "x", string(got.Body))
}

func TestAResponseWithoutABodyHasNothingToDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method string
		status int
	}{{"HEAD", 200}, {"GET", 204}, {"GET", 304}} {
		w := newWorld(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			if c.method == "HEAD" {
				w.Header().Set("Content-Length", "99999999999")
			}
			w.WriteHeader(c.status)
		}, "api.example.com:443")
		got, err := w.fetch(&Request{URL: apiURL, Method: c.method})
		require.NoError(t, err, "%s %d", c.method, c.status)
		assert.Equal(t, c.status, got.Status)
		assert.Equal(t, []byte{}, got.Body)
	}
}

func TestAPartOfABodyIsAskedForAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "api.example.com:443")
	got, err := w.fetch(&Request{URL: apiURL, Headers: [][2]string{{"Range", "bytes=0-1"}}})
	require.NoError(t, err)
	assert.Contains(t, string(got.Body), "Accept-Encoding: identity")
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	secretRule := []Rule{{Host: "a.test", Headers: map[string]string{"X-A": "{{secret:A}}"}}}
	for field, o := range map[string]Options{
		"Timeout":             {Timeout: -1},
		"ConnectTimeout":      {ConnectTimeout: -1},
		"HeaderTimeout":       {HeaderTimeout: -1},
		"RequestBytes":        {RequestBytes: -1},
		"ResponseHeaderBytes": {ResponseHeaderBytes: -1},
		"ResponseBytes":       {ResponseBytes: 1<<63 - 1},
		"DecodedBytes":        {DecodedBytes: -1},
		"MaxRedirects":        {MaxRedirects: -1},
		"UserAgent":           {UserAgent: "a\r\nb"},
		"Rules[1].Host":       {Rules: []Rule{{Host: "a.test"}, {Host: ""}}},
		"Rules[0].Scheme":     {Rules: []Rule{{Host: "a.test", Scheme: "ftp"}}},
		"Rules[0].Methods":    {Rules: []Rule{{Host: "a.test", Methods: []string{"connect"}}}},
		"Rules[0].PathPrefix": {Rules: []Rule{{Host: "a.test", PathPrefix: "v1"}}},
		"Rules[0].Headers":    {Rules: []Rule{{Host: "a.test", Headers: map[string]string{"Te": "x"}}}},
		"Secrets":             {Rules: secretRule},
	} {
		_, err := New(o)
		problem, ok := errors.AsType[*OptionError](err)
		require.True(t, ok, field)
		assert.Equal(t, field, problem.Field)
		assert.True(t, strings.HasPrefix(err.Error(), "egress: "+field+" "), err.Error())
	}
	for _, value := range []string{"", "short", strings.Repeat("a", MaxSecretBytes+1), "a\nb345678", " 12345678", "12345678\xff", "ünïcödé1"} {
		_, err := New(Options{Rules: secretRule, Secrets: SecretMap(map[string]string{"A": value})})
		require.Error(t, err, "%q", value)
		if value != "" {
			assert.NotContains(t, err.Error(), value)
		}
	}
	_, err := New(Options{Rules: secretRule, Secrets: SecretMap(map[string]string{"B": "12345678"})})
	require.Error(t, err)
}

func TestAClientWithoutRulesIsEmptyAndDeniesEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	c := w.client()
	assert.True(t, c.Empty())
	_, err := c.Fetch(t.Context(), &Request{URL: apiURL})
	var denied *DeniedError
	require.ErrorAs(t, err, &denied)
	_, err = c.HTTPClient().Get(apiURL)
	require.ErrorAs(t, err, &denied)
	assert.Empty(t, w.asked, "not even a name is looked up")
	assert.Len(t, w.denied, 2)

	w.allow("api.example.com")
	assert.False(t, w.client().Empty())
}

func TestASecretThatIsGoneFailsTheRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, withSecret, "other.example.com:443")
	there := true
	w.options.Secrets = func(string) (string, bool) { return secret, there }
	c := w.client()
	there = false
	_, err := c.Fetch(t.Context(), &Request{URL: "https://other.example.com"})
	var failed *FailedError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "a secret is not available", failed.Reason)
	assert.Empty(t, w.dialed)
}
