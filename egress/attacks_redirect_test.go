package egress

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

func redirectTo(status int, location string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Location"] = []string{location}
		w.WriteHeader(status)
	}
}

func redirectAttacks() []attack {
	var out []attack
	leads := func(name, location string, kind Kind, rules ...string) {
		out = append(out, attack{
			name: "redirect to " + name, api: redirectTo(http.StatusFound, location), denied: kind, dials: 1,
			rules: append([]string{"api.example.com:443"}, rules...),
			check: func(t *testing.T, w *world, _ *Response) { assert.True(t, w.denied[0].Redirected) },
		})
	}
	leads("a host that is not listed", "https://evil.test/", KindHost)
	leads("a host that is not listed, without a scheme", "//evil.test/", KindHost)
	leads("loopback", "https://127.0.0.1/", KindHost)
	leads("a listed private address", "https://10.0.0.1/", KindAddress, "10.0.0.1:443")
	leads("a metadata service by its address", "http://169.254.169.254/latest/", KindRedirect)
	leads("http", "http://api.example.com/", KindRedirect, "http://api.example.com")
	leads("a URL with a user name", "https://api.example.com@evil.test/", KindURL)
	leads("a URL with a backslash", `https://evil.test\@api.example.com/`, KindURL)
	leads("a path with a backslash", `/\evil.test/`, KindURL)
	leads("loopback as a number", "https://2130706433/", KindURL)
	leads("a file", "file:///etc/passwd", KindURL)
	leads("a script", "javascript:alert(1)", KindURL)
	leads("data", "data:text/plain,x", KindURL)
	leads("a path outside the prefix", "/v2", KindPath)
	leads("another port", "https://api.example.com:8443/", KindPort)
	for i := range out {
		if out[i].denied == KindPath {
			out[i].rules, out[i].request.URL = []string{"api.example.com:443/v1"}, apiURL+"/v1"
		}
	}
	return append(out,
		attack{
			name: "redirects without end", api: redirectTo(http.StatusTemporaryRedirect, "/again"),
			failed: "more than 5 redirects", dials: 6,
		},
		attack{
			name: "two locations", denied: KindURL, dials: 1,
			api: func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Location"] = []string{"/a", "https://other.example.com/"}
				w.WriteHeader(http.StatusFound)
			},
		},
		attack{
			name:     "redirect that asks for the caller's credentials",
			rules:    []string{"api.example.com:443", "other.example.com:443"},
			request:  Request{Headers: [][2]string{{"authorization", "Basic b3duOm93bg=="}, {"X-Own", "stays"}}},
			api:      redirectTo(http.StatusTemporaryRedirect, "https://other.example.com/steal"),
			harmless: "credentials are not carried to another origin", dials: 2,
			check: func(t *testing.T, _ *world, got *Response) {
				assert.Contains(t, string(got.Body), "X-Own: stays")
				assert.NotContains(t, string(got.Body), "Authorization")
				assert.Equal(t, "fetch:api.example.com, fetch:other.example.com", got.Origin, "the first one chose the URL")
			},
		},
		attack{
			name:     "redirect that asks for a rule's secret",
			rules:    []string{withSecret, "other.example.com:443"},
			api:      redirectTo(http.StatusTemporaryRedirect, "https://other.example.com/steal"),
			harmless: "a secret is for its rule's requests only", dials: 2,
			check: func(t *testing.T, _ *world, got *Response) {
				assert.NotContains(t, string(got.Body), "Authorization")
				assert.NotContains(t, string(got.Body), masked, "it was not even sent")
			},
		},
		attack{
			name:  "redirect with the secret in its URL",
			rules: []string{withSecret, "other.example.com:443"},
			api: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "https://other.example.com/?"+percentEncode(r.Header.Get("Authorization")))
				w.WriteHeader(http.StatusFound)
			},
			denied: KindRedirect, dials: 1,
		},
	)
}
