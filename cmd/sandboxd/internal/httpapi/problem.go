package httpapi

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// problem is an RFC 9457 problem document of type about:blank, and the only
// error that handlers return: huma would repeat the text of any other.
type problem struct {
	Title  string  `json:"title" doc:"The status in words."`
	Status int     `json:"status" doc:"HTTP status code."`
	Detail string  `json:"detail" doc:"What is wrong, and what is allowed."`
	Code   string  `json:"code,omitempty" doc:"Why a continuation was refused."`
	Faults []fault `json:"errors,omitempty" doc:"Each member that is wrong."`
}

// fault is one member that is wrong.
type fault struct {
	Field   string `json:"field" doc:"The member, such as limits.timeoutMs."`
	Problem string `json:"problem" doc:"Completes the sentence that begins with the field."`
}

var (
	_ huma.StatusError       = (*problem)(nil)
	_ huma.HeadersError      = (*problem)(nil)
	_ huma.ContentTypeFilter = (*problem)(nil)
)

func (p *problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	return h
}

// ContentType implements huma.ContentTypeFilter, whatever a client accepts.
func (p *problem) ContentType(string) string { return "application/problem+json" }

// write answers where huma does not: before its operations and around them.
func (p *problem) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = writeJSON(w, p)
}

// writeJSON is the format of problems. A failed write is no error: whoever does
// not read has gone, and huma would panic.
func writeJSON(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err == nil {
		_, _ = w.Write(body)
	}
	return err
}

func newProblem(status int, detail string, faults ...fault) *problem {
	return &problem{Title: http.StatusText(status), Status: status, Detail: detail, Faults: faults}
}

func unavailable(detail string) *problem { return newProblem(http.StatusServiceUnavailable, detail) }

func unprocessable(faults []fault) *problem {
	details := make([]string, len(faults))
	for i, f := range faults {
		details[i] = f.Field + " " + f.Problem
	}
	return newProblem(http.StatusUnprocessableEntity, strings.Join(details, "; "), faults...)
}
