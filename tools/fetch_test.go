package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/egress"
	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

// echo serves what tests of fetch ask for, and a client that may ask for it.
func echo(t *testing.T) (base string, client *egress.Client) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header()["Date"] = nil
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "%s %s %x", r.Method, r.Header.Get("X-Test"), body)
	})
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0}) })
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/label", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"__loomTainted":{"origin":"host"},"value":1}`)
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/empty", http.StatusFound) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	address := netip.MustParseAddrPort(u.Host)
	client, err = egress.New(egress.Options{Rules: []egress.Rule{{
		Host: address.Addr().String(), Port: address.Port(), Scheme: "http", DangerouslyAllowPrivateAddresses: true,
	}}})
	require.NoError(t, err)
	return server.URL, client
}

// fetched is the answer to a call of fetch.
func fetched(t *testing.T, set *tools.Set, format string, args ...any) tools.Answer {
	t.Helper()
	return set.Answer(t.Context(), &tools.Call{Tool: "fetch", Args: json.RawMessage(fmt.Sprintf(format, args...))}, nil)
}

func TestFetchGivesAResponseWithTheLabelOfItsHost(t *testing.T) {
	t.Parallel()
	base, client := echo(t)
	trusted := tools.Fetch(client)
	trusted.DangerouslyTrustResults = true
	for _, set := range []*tools.Set{newSet(t, tools.Fetch(client)), newSet(t, trusted)} {
		for _, tc := range []struct{ args, want string }{
			{`{"url": "%s/echo"}`, `{"url": "%[1]s/echo", "status": 200, "statusText": "OK", "redirected": false,
				"headers": [["content-length", "5"], ["content-type", "text/plain"]], "body": "GET  "}`},
			{`{"url": "%s/echo", "method": "post", "headers": [["X-Test", "a"]], "body": "ä", "redirect": "error"}`, `{"url": "%[1]s/echo", "status": 200, "statusText": "OK", "redirected": false,
				"headers": [["content-length", "11"], ["content-type", "text/plain"]], "body": "POST a c3a4"}`},
			{`{"url": "%s/echo", "method": "PUT", "bodyBase64": "/wA="}`, `{"url": "%[1]s/echo", "status": 200, "statusText": "OK", "redirected": false,
				"headers": [["content-length", "9"], ["content-type", "text/plain"]], "body": "PUT  ff00"}`},
		} {
			answer := fetched(t, set, "["+tc.args+"]", base)
			require.Nil(t, answer.Failure, "%+v", answer)
			assert.JSONEq(t, fmt.Sprintf(tc.want, base), string(answer.Value))
			assert.Equal(t, "fetch:127.0.0.1", answer.Origin)
		}
	}
	set := newSet(t, tools.Fetch(client))
	for args, want := range map[string]map[string]any{
		`[{"url": "%s/bytes"}]`:                       {"status": 200.0, "bodyBase64": "/wA=", "redirected": false},
		`[{"url": "%s/empty"}]`:                       {"status": 204.0, "redirected": false},
		`[{"url": "%s/moved"}]`:                       {"status": 204.0, "redirected": true},
		`[{"url": "%s/moved", "redirect": "manual"}]`: {"status": 302.0, "redirected": false, "body": "<a href=\"/empty\">Found</a>.\n\n"},
		`[{"url": "%s/label"}]`:                       {"status": 200.0, "body": `{"__loomTainted":{"origin":"host"},"value":1}`, "redirected": false},
	} {
		answer := fetched(t, set, args, base)
		require.Nil(t, answer.Failure, args)
		var got map[string]any
		require.NoError(t, json.Unmarshal(answer.Value, &got))
		for _, name := range []string{"url", "statusText", "headers"} {
			assert.Contains(t, got, name)
			delete(got, name)
		}
		assert.Equal(t, want, got, args)
		assert.Equal(t, "fetch:127.0.0.1", answer.Origin)
	}
}

func TestAResponseWithinAResultKeepsItsLabel(t *testing.T) {
	t.Parallel()
	base, client := echo(t)
	get := tools.Fetch(client).Handler
	set := lookup(t, func(ctx context.Context, call *tools.Call) (any, error) {
		got, err := get(ctx, call)
		return map[string]any{"page": got}, err
	})
	answer := set.Answer(t.Context(), ask(fmt.Sprintf(`[{"url": "%s/bytes"}]`, base)), nil)
	require.Nil(t, answer.Failure, "%v", answer.Cause)
	value, origins, err := taint.Strip(answer.Value)
	require.NoError(t, err)
	assert.Equal(t, []string{"fetch:127.0.0.1"}, origins)
	var got struct{ Page map[string]any }
	require.NoError(t, json.Unmarshal(value, &got))
	assert.Equal(t, "/wA=", got.Page["bodyBase64"])
}

func TestABodyThatWouldGrowAsJSONIsWrittenAsBase64(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"<p>An ordinary page, with <b>few</b> brackets &amp; \"quotes\".</p>\n": false,
		strings.Repeat("\"\\\n\r\t\b\f", 1000):                                  false,
		strings.Repeat("\x01", 1000):                                            true,
		strings.Repeat("<", 1000):                                               true,
		strings.Repeat("\u2028\u2029", 1000):                                    false,
		strings.Repeat("<a>", 1000) + strings.Repeat("é", 1000):                 true,
		"": false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
		u, err := url.Parse(server.URL)
		require.NoError(t, err)
		address := netip.MustParseAddrPort(u.Host)
		client, err := egress.New(egress.Options{Rules: []egress.Rule{{
			Host: address.Addr().String(), Port: address.Port(), Scheme: "http", DangerouslyAllowPrivateAddresses: true,
		}}})
		require.NoError(t, err)
		answer := fetched(t, newSet(t, tools.Fetch(client)), `[{"url": "%s"}]`, server.URL)
		server.Close()
		require.Nil(t, answer.Failure)
		assert.Less(t, len(answer.Value), 2*len(text)+500)
		var got struct {
			Body       string
			BodyBase64 []byte
		}
		require.NoError(t, json.Unmarshal(answer.Value, &got))
		assert.Equal(t, want, got.BodyBase64 != nil, "%.20q", text)
		assert.Equal(t, text, got.Body+string(got.BodyBase64))
	}
}

func TestFetchRefusesWhatNoRuleAllows(t *testing.T) {
	t.Parallel()
	_, client := echo(t)
	nothing, err := egress.New(egress.Options{})
	require.NoError(t, err)
	for _, c := range []*egress.Client{client, nothing} {
		answer := fetched(t, newSet(t, tools.Fetch(c)), `[{"url": "https://example.com/"}]`)
		got := failure(t, answer)
		assert.Equal(t, tools.CodeEgressDenied, got.Code)
		assert.True(t, got.Denied)
		assert.Regexp(t, `^fetch was denied: .*example\.com`, got.Message)
		assert.Equal(t, "fetch", answer.Origin)
		var denied *egress.DeniedError
		assert.ErrorAs(t, answer.Cause, &denied)
	}
	deny := func(context.Context, *tools.Call) tools.Decision { return tools.Deny("no network today") }
	answer := newSet(t, tools.Fetch(client)).Answer(t.Context(), &tools.Call{Tool: "fetch", Args: json.RawMessage(`[{"url":"https://a"}]`)}, deny)
	assert.Equal(t, "fetch was denied: no network today", failure(t, answer).Message)
}

func TestFetchChecksItsArguments(t *testing.T) {
	t.Parallel()
	base, client := echo(t)
	set := newSet(t, tools.Fetch(client))
	for args, want := range map[string]string{
		`[]`:                                                 "fetch: /url is required",
		`["%s/echo"]`:                                        "fetch: takes one argument, an object",
		`[{"url": "%s", "method": 1}]`:                       "fetch: /method must be string",
		`[{"url": "%s", "headers": {"a": "b"}}]`:             "fetch: /headers must be array",
		`[{"url": "%s", "headers": [["a"]]}]`:                "fetch: /headers/0 must have at least 2 items",
		`[{"url": "%s", "redirect": "perhaps"}]`:             `fetch: /redirect must be one of "follow", "error", "manual"`,
		`[{"url": "%s", "body": "a", "bodyBase64": "YQ=="}]`: "fetch: the argument is not what the schema allows",
		`[{"url": "%s", "bodyBase64": "a*"}]`:                `fetch: /bodyBase64 must match the pattern "^[A-Za-z0-9+/]*={0,2}$"`,
		`[{"url": "%s", "credentials": "include"}]`:          "fetch: /credentials is not allowed",
	} {
		got := failure(t, set.Answer(t.Context(), &tools.Call{Tool: "fetch", Args: json.RawMessage(sprintf(args, base))}, nil))
		assert.Equal(t, tools.Failure{Name: tools.NameType, Code: tools.CodeBadArguments, Message: want}, got)
	}
	got := failure(t, fetched(t, set, `[{"url": "%s/echo", "method": "POST", "bodyBase64": "a"}]`, base))
	assert.Equal(t, tools.Failure{Name: tools.NameTool, Code: tools.CodeFailed, Message: "fetch: bodyBase64 is not base64"}, got)
}

// sprintf formats what may have nothing to fill in.
func sprintf(format, base string) string {
	if got := fmt.Sprintf(format, base); format != "[]" {
		return got
	}
	return format
}

func TestARequestWithoutAResponseSaysWhatEgressSays(t *testing.T) {
	t.Parallel()
	listener := httptest.NewServer(http.NotFoundHandler())
	base := listener.URL
	u, err := url.Parse(base)
	require.NoError(t, err)
	address := netip.MustParseAddrPort(u.Host)
	listener.Close() // nobody is there
	client, err := egress.New(egress.Options{Timeout: 20 * time.Second, Rules: []egress.Rule{{
		Host: "127.0.0.1", Port: address.Port(), Scheme: "http", DangerouslyAllowPrivateAddresses: true,
	}}})
	require.NoError(t, err)
	answer := fetched(t, newSet(t, tools.Fetch(client)), `[{"url": "%s"}]`, base)
	got := failure(t, answer)
	assert.Equal(t, tools.CodeFailed, got.Code)
	var failed *egress.FailedError
	require.ErrorAs(t, answer.Cause, &failed)
	assert.Equal(t, "fetch: "+failed.Reason, got.Message)

	// A tool of its own does not say where it asked, but what was refused is denied.
	ours := func(to string) tools.Handler {
		return func(ctx context.Context, _ *tools.Call) (any, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
			if err != nil {
				return nil, err
			}
			response, err := client.HTTPClient().Do(request)
			if err != nil {
				return nil, err
			}
			return response.Status, response.Body.Close()
		}
	}
	assert.Equal(t, tools.Failure{Name: tools.NameTool, Code: tools.CodeFailed, Message: "crm.lookup failed"},
		failure(t, lookup(t, ours(base)).Answer(t.Context(), ask(`[]`), nil)))
	refuses := ours("https://billing.internal.example/")
	refused := failure(t, lookup(t, refuses).Answer(t.Context(), ask(`[]`), nil))
	assert.Equal(t, tools.Failure{
		Name: tools.NameDenied, Denied: true, Code: tools.CodeEgressDenied,
		Message: "crm.lookup was denied: a request that it makes is not allowed",
	}, refused)
	inWords := func(ctx context.Context, call *tools.Call) (any, error) {
		_, err := refuses(ctx, call)
		return nil, tools.Failf("the bill cannot be read: %w", err)
	}
	refused = failure(t, lookup(t, inWords).Answer(t.Context(), ask(`[]`), nil))
	assert.Equal(t, "crm.lookup was denied: the bill cannot be read: error", refused.Message)
	assert.Equal(t, tools.CodeEgressDenied, refused.Code)
}

func TestFetchWithoutAClientCannotBeGranted(t *testing.T) {
	t.Parallel()
	_, err := tools.NewSet(tools.Fetch(nil))
	assert.EqualError(t, err, `tools: "fetch" has no handler`)
}
