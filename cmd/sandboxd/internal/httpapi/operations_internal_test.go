package httpapi

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/spi"
)

// recorder keeps the patterns that a mux is given.
type recorder struct {
	*http.ServeMux
	patterns []string
}

func (r *recorder) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	r.patterns = append(r.patterns, pattern)
	r.ServeMux.HandleFunc(pattern, h)
}

func TestEveryDescribedOperationIsRoutedAndEveryRouteIsDescribed(t *testing.T) {
	t.Parallel()
	api, err := New(Options{Backends: []spi.Descriptor{stub.Describe()}, MaxConcurrent: 1, MaxQueueBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ask := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+path, nil))
		return w
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	text := ask(http.MethodGet, "/openapi.json").Body.String()
	require.NoError(t, json.Unmarshal([]byte(text), &doc))
	for _, own := range []string{"octet-stream", "ErrorModel", "ErrorDetail"} {
		assert.NotContains(t, text, own, "huma's own, which is never read or answered")
	}

	var described, paths []string
	for path, operations := range doc.Paths {
		paths = append(paths, path)
		for method := range operations {
			method = strings.ToUpper(method)
			described = append(described, method+" "+path)
			assert.NotContains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, ask(method, path).Code, "%s %s", method, path)
		}
		assert.Equal(t, http.StatusMethodNotAllowed, ask(http.MethodDelete, path).Code, path)
	}

	mux := &recorder{ServeMux: http.NewServeMux()}
	require.NoError(t, api.register(mux))
	var routed, fallbacks []string
	for _, pattern := range mux.patterns {
		if strings.Contains(pattern, " ") {
			routed = append(routed, pattern)
		} else {
			fallbacks = append(fallbacks, pattern) // 405, as seen above
		}
	}
	assert.ElementsMatch(t, described, routed)
	assert.ElementsMatch(t, paths, fallbacks)
	assert.Subset(t, routed, []string{"POST /v1/eval", "GET /healthz", "GET /readyz"})
}
