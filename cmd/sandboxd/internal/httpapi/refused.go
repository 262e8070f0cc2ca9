package httpapi

import (
	"errors"
	"net/http"

	"github.com/loom-sandbox/sandboxd/sandbox"
)

// refusal is why a continuation is not gone on with.
type refusal struct {
	err    error
	status int
	code   string
	detail string
}

func refusals() []refusal {
	return []refusal{
		{sandbox.ErrContinuationUnreadable, http.StatusUnprocessableEntity, "continuation_unreadable",
			"the continuation cannot be opened: it was changed, or sealed with a key that this server does not have"},
		{sandbox.ErrContinuationForeign, http.StatusConflict, "continuation_foreign",
			"the continuation is for another audience or another guest image; allowed is one of a server with the same settings"},
		{sandbox.ErrContinuationExpired, http.StatusGone, "continuation_expired",
			"the continuation has expired; run the script again"},
		{sandbox.ErrContinuationTooLarge, http.StatusRequestEntityTooLarge, "continuation_too_large",
			"the continuation is larger than this server allows"},
	}
}

// refusedContinuation is the problem of a continuation that the sandbox refuses;
// nil for every other error.
func refusedContinuation(err error) *problem {
	for _, r := range refusals() {
		if errors.Is(err, r.err) {
			p := newProblem(r.status, r.detail)
			p.Code = r.code
			return p
		}
	}
	return nil
}
