// Package httpapi answers the HTTP API of sandboxd.
//
//	POST /v1/eval      runs a script: 200 with the result, also when the script failed
//	POST /v1/resume    goes on with a script that waits for its client, and answers alike
//	GET /healthz       200 while the process lives
//	GET /readyz        200 once a backend runs scripts, else 503
//	GET /openapi.json  the API's description, also as /openapi.yaml
//
// Each of these is an operation of huma, which writes the description of what is
// registered. The bodies are read and the problems are worded here.
//
// An eval that arrives while the backend is still starting waits for it.
//
// An eval may declare tools. The client runs them: a call suspends the script, and
// the result is its pending calls and a continuation. Nothing of it stays here, so
// that any server with the same key, audience and guest image can go on.
//
// # Security
//
// A browser is never a friend here: cross-origin requests are refused, and so
// are requests for another host where the hosts are restricted. A problem
// document names the member at fault and what is allowed; it never repeats a
// value, because values are scripts and their data. The names of unknown
// members are repeated, shortened and escaped. A continuation is a secret of the
// server's, sealed, and is refused with a code of its own where it cannot be
// opened, is for others, has expired or is too large.
//
// # Concurrency
//
// At most Options.MaxConcurrent evals run at once; the others wait in order of
// arrival, at most Options.MaxQueue of them and for at most
// Options.QueueTimeout. Who finds no place gets 503 with Retry-After. A place is
// for who has sent the whole body; more may be sending, for about ten seconds. A
// client that disconnects ends its eval, unless it has sent more bytes after the
// request, behind which net/http does not see the end of the connection.
//
// # Limits
//
// A body of an eval may have [Options.MaxEvalBytes]: six times the script's ceiling
// (JSON can need six bytes for one), those of input and tools and 64 KiB for the
// rest. That of a resumption may have [Options.MaxResumeBytes]: the continuation's
// ceiling as base64, that of results and 256 KiB for the rest. At most 64 tools can
// be declared.
// Bodies that are read, evals that wait or run and answers that are sent may
// hold Options.MaxQueueBytes together. Not counted are what decoding needs and
// what running evals make, both for at most Options.MaxConcurrent at once.
package httpapi
