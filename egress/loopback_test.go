package egress

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRealConnectionsGoWhereARuleAllows has nothing of a test's own between the
// client and the system.
func TestRealConnectionsGoWhereARuleAllows(t *testing.T) {
	t.Parallel()
	for name, listen := range map[string]string{"IPv4": "127.0.0.1:0", "IPv6": "[::1]:0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", listen)
			if err != nil {
				t.Skipf("this machine has no loopback address of %s: %v", name, err)
			}
			s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(echo)}}
			s.Start()
			defer s.Close()

			rule, err := ParseRule(s.URL + " " + wordPrivate)
			require.NoError(t, err)
			c, err := New(Options{Rules: []Rule{rule}})
			require.NoError(t, err)
			got, err := c.Fetch(t.Context(), &Request{URL: s.URL})
			require.NoError(t, err)
			assert.Contains(t, string(got.Body), "Host: "+strings.TrimPrefix(s.URL, "http://"))

			rule.DangerouslyAllowPrivateAddresses = false
			c, err = New(Options{Rules: []Rule{rule}})
			require.NoError(t, err)
			_, err = c.Fetch(t.Context(), &Request{URL: s.URL})
			denied, ok := errors.AsType[*DeniedError](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, KindAddress, denied.Kind)
		})
	}
}

func TestLocalhostIsFoundByTheSystemsResolver(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(echo))
	defer s.Close()
	url := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	rule, err := ParseRule(url + " " + wordPrivate)
	require.NoError(t, err)
	c, err := New(Options{Rules: []Rule{rule}})
	require.NoError(t, err)
	got, err := c.Fetch(t.Context(), &Request{URL: url})
	require.NoError(t, err)
	assert.Contains(t, string(got.Body), "Host: localhost:")
}
