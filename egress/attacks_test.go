package egress

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// attack is one attempt to reach what no rule allows, to hold the host up, or to
// get at a secret.
type attack struct {
	name    string
	request Request // URL: https://api.example.com/ if it is empty
	rules   []string
	api     http.HandlerFunc // what api.example.com answers
	setup   func(w *world)

	// One of the first two says how it ends; harmless: it is answered, and this
	// is why it does not matter.
	denied   Kind
	failed   string
	harmless string
	dials    int // connections that were made
	check    func(t *testing.T, w *world, got *Response)
}

// TestAttacks prints the list of attacks with what becomes of each:
//
//	go test ./egress -run Attacks -v
func TestAttacks(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	outcomes := map[string]string{}
	var order []string
	t.Cleanup(func() { // after the attacks, which run at once
		for _, name := range order {
			t.Logf("%-72s %s", name, outcomes[name])
		}
	})
	for _, group := range []struct {
		name    string
		attacks []attack
	}{
		{"URL", urlAttacks()},
		{"address", addressAttacks()},
		{"redirect", redirectAttacks()},
		{"request", requestAttacks()},
		{"response", responseAttacks()},
		{"secret", secretAttacks()},
	} {
		for _, a := range group.attacks {
			name := group.name + ": " + a.name
			require.NotContains(t, order, name)
			order = append(order, name)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				outcome := a.run(t)
				mu.Lock()
				defer mu.Unlock()
				outcomes[name] = outcome
			})
		}
	}
}

func (a attack) run(t *testing.T) string {
	rules := a.rules
	if rules == nil {
		rules = []string{"api.example.com:443"}
	}
	w := newWorld(t, a.api, rules...)
	w.options.Timeout, w.options.HeaderTimeout = 10*time.Second, 5*time.Second
	if a.setup != nil {
		a.setup(w)
	}
	request := a.request
	if request.URL == "" {
		request.URL = apiURL + "/"
	}
	began := time.Now()
	got, err := w.fetch(&request)
	assert.Less(t, time.Since(began), 9*time.Second, "nobody is held up")
	outcome := a.outcome(t, w, got, err)
	assert.Len(t, w.dialed, a.dials, "connections")
	if a.check != nil {
		a.check(t, w, got)
	}
	return outcome
}

// outcome demands the expected end and describes it.
func (a attack) outcome(t *testing.T, w *world, got *Response, err error) string {
	t.Helper()
	if a.harmless != "" {
		require.NoError(t, err)
		return "harmless: " + a.harmless
	}
	require.Error(t, err)
	require.Nil(t, got)
	assertSafe(t, err, a.request.URL)
	if a.failed != "" {
		failed, ok := errors.AsType[*FailedError](err)
		require.True(t, ok, "%v", err)
		assert.Contains(t, failed.Reason, a.failed)
		return "stopped: " + failed.Reason
	}
	denied, ok := errors.AsType[*DeniedError](err)
	require.True(t, ok, "%v (%v)", err, errors.Unwrap(err))
	assert.Equal(t, a.denied, denied.Kind, denied.Reason)
	assert.Equal(t, CodeDenied, denied.Code)
	require.Len(t, w.denied, 1, "the operator sees it")
	assert.Equal(t, denied.Reason, w.denied[0].Reason)
	return "denied (" + string(denied.Kind) + "): " + denied.Reason
}

// assertSafe demands an error that a script may see: one line, without secrets
// and without addresses that nobody asked for.
func assertSafe(t *testing.T, err error, asked string) {
	t.Helper()
	text := err.Error()
	assert.Less(t, len(text), 700)
	for _, never := range []string{secret, "\n", apiAddr, otherAddr, "10.0.0.7", "127.0.0.1:", "169.254.169.254", "10.9.8.7", "nobody listens"} {
		if !strings.Contains(asked, never) {
			assert.NotContains(t, text, never)
		}
	}
}

func denyURLs(kind Kind, rules []string, urls ...[2]string) []attack {
	var out []attack
	for _, u := range urls {
		out = append(out, attack{name: u[0], request: Request{URL: u[1]}, rules: rules, denied: kind})
	}
	return out
}
