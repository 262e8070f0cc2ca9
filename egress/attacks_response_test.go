package egress

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bomb is n zero bytes, compressed.
func bomb(t require.TestingT, n int, to func(w io.Writer) io.WriteCloser) []byte {
	var b bytes.Buffer
	w := to(&b)
	_, err := w.Write(make([]byte, n))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func toGzip(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
func toZlib(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }
func toFlate(w io.Writer) io.WriteCloser {
	f, _ := flate.NewWriter(w, flate.BestCompression) // the level exists
	return f
}

func encoded(encoding string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", encoding)
		_, _ = w.Write(body)
	}
}

// plain lets api.example.com be reached without TLS, to talk raw bytes.
func plain(talk func(conn net.Conn)) func(w *world) {
	return func(w *world) {
		w.serveRaw(apiAddr, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096)) // the request
			talk(conn)
		})
	}
}

// repeat sends the same text until the other side is gone.
func repeat(conn net.Conn, text string, pause time.Duration) {
	for {
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
		time.Sleep(pause)
	}
}

func responseAttacks() []attack {
	const size = DefaultDecodedBytes * 4
	var t panicking
	raw := func(name, failed string, talk func(conn net.Conn)) attack {
		return attack{
			name: name, rules: []string{"http://api.example.com"}, request: Request{URL: "http://api.example.com/"},
			failed: failed, dials: 1,
			setup: plain(talk),
		}
	}
	within := func(a attack, timeout, headers time.Duration) attack {
		talk := a.setup
		a.setup = func(w *world) {
			w.options.Timeout, w.options.HeaderTimeout = timeout, headers
			talk(w)
		}
		return a
	}
	say := func(text string) func(conn net.Conn) {
		return func(conn net.Conn) { _, _ = io.WriteString(conn, text) }
	}
	const ok = "HTTP/1.1 200 OK\r\n"
	return []attack{
		{name: "gzip bomb", api: encoded("gzip", bomb(t, size, toGzip)), failed: "after decompression", dials: 1},
		{name: "deflate bomb", api: encoded("deflate", bomb(t, size, toZlib)), failed: "after decompression", dials: 1},
		{name: "raw deflate bomb", api: encoded("deflate", bomb(t, size, toFlate)), failed: "after decompression", dials: 1},
		{name: "bomb in a bomb", api: encoded("gzip, gzip", bomb(t, size, toGzip)), failed: "could not be read", dials: 1},
		{name: "encoding that was not asked for", api: encoded("br", []byte("x")), failed: "could not be read", dials: 1},
		{name: "gzip that is none", api: encoded("gzip", []byte("no gzip")), failed: "could not be read", dials: 1},
		{
			name: "empty gzip members without end", failed: "larger than 4194304 bytes", dials: 1,
			api: encoded("gzip", bytes.Repeat(bomb(t, 0, toGzip), DefaultResponseBytes/20)),
		},
		{
			name: "body without end", failed: "larger than 4194304 bytes", dials: 1,
			api: func(w http.ResponseWriter, _ *http.Request) {
				for block := make([]byte, 1<<16); ; {
					if _, err := w.Write(block); err != nil {
						return
					}
				}
			},
		},
		{
			name: "body that says it is huge", failed: "larger than 4194304 bytes", dials: 1,
			api: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "99999999999")
				w.WriteHeader(http.StatusOK)
			},
		},
		{
			name: "huge header", failed: "gave no valid response", dials: 1,
			api: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-A", strings.Repeat("a", DefaultResponseHeaderBytes))
			},
		},
		raw("headers without end", "gave no valid response", func(conn net.Conn) {
			_, _ = io.WriteString(conn, ok)
			repeat(conn, strings.Repeat("X-A: a\r\n", 100), 0)
		}),
		within(raw("slow headers", "did not respond in time", func(conn net.Conn) {
			_, _ = io.WriteString(conn, ok)
			repeat(conn, "X-A: a\r\n", 20*time.Millisecond)
		}), time.Minute, 300*time.Millisecond),
		within(raw("slow body", "took too long", func(conn net.Conn) {
			_, _ = io.WriteString(conn, ok+"\r\n")
			repeat(conn, "a", 20*time.Millisecond)
		}), 500*time.Millisecond, time.Minute),
		within(raw("silence", "did not respond in time", func(conn net.Conn) {
			_, _ = io.Copy(io.Discard, conn)
		}), time.Minute, 300*time.Millisecond),
		raw("early hints without end", "gave no valid response", func(conn net.Conn) {
			repeat(conn, "HTTP/1.1 103 Early Hints\r\n\r\n", 0)
		}),
		raw("change of protocol", "gave no valid response", say("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")),
		raw("two lengths", "gave no valid response", say(ok+"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab")),
		raw("body that is cut off", "could not be read", say(ok+"Content-Length: 10\r\n\r\nab")),
		raw("chunk that is huge", "could not be read", say(ok+"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n")),
		raw("trailers without end", "could not be read", func(conn net.Conn) {
			_, _ = io.WriteString(conn, ok+"Transfer-Encoding: chunked\r\n\r\n0\r\n")
			repeat(conn, strings.Repeat("X-A: a\r\n", 100), 0)
		}),
		raw("chunks that are mostly extensions", "could not be read", func(conn net.Conn) {
			_, _ = io.WriteString(conn, ok+"Transfer-Encoding: chunked\r\n\r\n")
			repeat(conn, "1;"+strings.Repeat("a", 2000)+"\r\na\r\n", 0)
		}),
		raw("no HTTP", "gave no valid response", say("220 mail.example.com ESMTP\r\n")),
		{
			name: "cookies", harmless: "they are neither shown nor kept", dials: 2,
			api: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Set-Cookie", "id=1")
				if r.URL.Path == "/" {
					http.Redirect(w, r, "/again", http.StatusFound)
					return
				}
				echo(w, r)
			},
			check: func(t *testing.T, _ *world, got *Response) {
				assert.NotContains(t, string(got.Body), "Cookie")
				for _, h := range got.Headers {
					assert.NotEqual(t, "set-cookie", h[0])
				}
			},
		},
		{
			name: "control characters in a status line", harmless: "they become spaces", dials: 1,
			rules: []string{"http://api.example.com"}, request: Request{URL: "http://api.example.com/"},
			setup: plain(say("HTTP/1.1 200 a\x1b[31mb\r\nX-A: \xe9\r\nContent-Length: 0\r\n\r\n")),
			check: func(t *testing.T, _ *world, got *Response) {
				assert.Equal(t, "a [31mb", got.StatusText)
				assert.Contains(t, got.Headers, [2]string{"x-a", "é"})
			},
		},
	}
}

// panicking is for what is made before a test runs and cannot fail.
type panicking struct{}

func (panicking) Errorf(format string, _ ...any) { panic(format) }
func (panicking) FailNow()                       { panic("failed") }
