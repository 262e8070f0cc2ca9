package httpapi_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/httpapi"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/sandbox"
)

func FuzzResumeAnswersEveryBodyWithoutEchoOrFault(f *testing.F) {
	sb, err := sandbox.New(&stub.Backend{}, nil)
	if err != nil {
		f.Fatal(err)
	}
	api, err := httpapi.New(options(io.Discard))
	if err != nil {
		f.Fatal(err)
	}
	api.Ready(map[string]httpapi.Evaluator{"stub": sb})
	var waits struct{ Continuation string }
	w := do(api, post(`{"script":"call crm.lookup {\"id\":7}","tools":[`+lookup+`]}`))
	if err := json.Unmarshal(w.Body.Bytes(), &waits); err != nil || waits.Continuation == "" {
		f.Fatalf("%v: %s", err, w.Body)
	}
	const good = "@" // a key cannot stand in a corpus: it is another each time
	for _, s := range []string{
		`{"continuation":"@","replies":[]}`, `{"continuation":"@","replies":[{"id":1,"value":null}],"limits":{"replyBytes":9}}`,
		`{"continuation":"@","replies":[{"id":1,"error":{"name":"E","message":"m"}},{"id":1}]}`, `{"continuation":"A@","replies":{}}`, `[`, `{"replies":[[[]]]}`,
		`{"continuation":"@","replies":[{"id":1e0,"value":{"__loomTainted":{"origin":"o"},"value":1}}],"now":"x","seed":"s","backend":"stub"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := do(api, postTo("/v1/resume", strings.ReplaceAll(body, good, waits.Continuation)))
		switch w.Code {
		case 200:
			if !strings.Contains(body, good) {
				t.Fatalf("went on from nothing: %q", body)
			}
		case 400, 413, 422:
			if w.Body.Len() > 4<<10 {
				t.Fatalf("%d bytes of problem for %q", w.Body.Len(), body)
			}
		default:
			t.Fatalf("status %d for %q", w.Code, body)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Fatalf("no JSON: %q", w.Body)
		}
	})
}
