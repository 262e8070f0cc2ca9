package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// problem is an RFC 9457 problem document of type about:blank.
type problem struct {
	Title  string  `json:"title" doc:"The status in words."`
	Status int     `json:"status" doc:"HTTP status code."`
	Detail string  `json:"detail" doc:"What is wrong, and what is allowed."`
	Faults []fault `json:"errors,omitempty" doc:"Each member that is wrong."`
}

// fault is one member that is wrong.
type fault struct {
	Field   string `json:"field" doc:"The member, such as limits.timeoutMs."`
	Problem string `json:"problem" doc:"Completes the sentence that begins with the field."`
}

func (p problem) write(w http.ResponseWriter) {
	p.Title = http.StatusText(p.Status)
	body, err := json.Marshal(p)
	if err != nil { // strings and an int always marshal
		http.Error(w, p.Title, p.Status)
		return
	}
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	respond(w, p.Status, "application/problem+json", body)
}

func respond(w http.ResponseWriter, status int, mediaType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // whoever does not read it has gone
}

func unavailable(detail string) problem {
	return problem{Status: http.StatusServiceUnavailable, Detail: detail}
}

func tooLargeBody(most int64) *problem {
	return &problem{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("the body is too large; allowed is %d bytes", most)}
}

func unprocessable(faults []fault) *problem {
	details := make([]string, len(faults))
	for i, f := range faults {
		details[i] = f.Field + " " + f.Problem
	}
	return &problem{Status: http.StatusUnprocessableEntity, Detail: strings.Join(details, "; "), Faults: faults}
}
