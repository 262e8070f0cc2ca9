package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/httpapi"
	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/stub"
	"github.com/loom-sandbox/sandboxd/sandbox"
)

// chunked is a body of no declared size.
type chunked struct{ io.Reader }

func TestBytesOfWaitingEvalsAreBoundedHoweverTheyCome(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"announced": func(r io.Reader) io.Reader { return r },
		"chunked":   func(r io.Reader) io.Reader { return chunked{r} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &stub.Backend{Started: make(chan struct{}), Release: make(chan struct{})}
			api, _ := ready(t, b, func(o *httpapi.Options) {
				o.MaxConcurrent, o.MaxInputBytes = 1, 1<<20
				o.MaxQueueBytes = o.MinQueueBytes() // about 2.3 MiB
			})
			large := func(script string) *httptest.ResponseRecorder {
				r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/eval", wrap(strings.NewReader(`{"script":"`+script+`","input":"`+strings.Repeat("x", 900<<10)+`"}`)))
				r.Header.Set("Content-Type", "application/json")
				return do(api, r)
			}
			running := make(chan int)
			go func() { running <- large("wait").Code }()
			<-b.Started
			w := large("input")
			// 900 KiB are held, and a second body needs up to twice that while it grows.
			if assert.Equal(t, 503, w.Code, w.Body.Len()) {
				assert.Contains(t, problemOf(t, w).Detail, "bytes are waiting")
				assert.Equal(t, "1", w.Header().Get("Retry-After"))
			}
			go func() { running <- do(api, post(`{"script":"input"}`)).Code }() // small ones still fit
			close(b.Release)
			assert.Equal(t, 200, <-running)
			assert.Equal(t, 200, <-running)
			for range 3 { // everything has been given back
				assert.Equal(t, 200, large("input").Code)
				assert.Equal(t, 200, do(api, post(`{"script":"`+strings.Repeat(" ", 1<<10-5)+`input"}`)).Code)
				assert.Equal(t, 422, large(`","x":"`).Code)
			}
		})
	}
}

// unread is a client that does not read its answer until told to.
type unread struct {
	*httptest.ResponseRecorder
	once    sync.Once
	writing chan struct{}
	read    chan struct{}
}

func (u *unread) Write(p []byte) (int, error) {
	u.once.Do(func() { close(u.writing) })
	<-u.read
	return u.ResponseRecorder.Write(p)
}

func TestAResultThatIsNotReadCountsUntilItIs(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, func(o *httpapi.Options) {
		o.MaxInputBytes = 1 << 20
		o.MaxQueueBytes = o.MinQueueBytes()
	})
	large := `{"script":"input","input":"` + strings.Repeat("x", 900<<10) + `"}`
	for body, another := range map[string]int{
		large: 503,
		strings.Replace(large, "input", "value 1", 1): 200, // the input has gone, and the result is small
	} {
		slow := &unread{ResponseRecorder: httptest.NewRecorder(), writing: make(chan struct{}), read: make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			api.ServeHTTP(slow, post(body))
		}()
		<-slow.writing
		assert.Equal(t, another, do(api, post(large)).Code)
		assert.Equal(t, 200, do(api, post(`{"script":"input"}`)).Code)
		close(slow.read)
		<-done
		assert.Equal(t, 200, slow.Code)
		assert.Equal(t, 200, do(api, post(large)).Code)
	}
}

// Not parallel: it measures the heap.
func TestAWaitingEvalHoldsOneCopyOfItsInput(t *testing.T) {
	const n, size = 12, 2 << 20
	for name, padding := range map[string]int{"input alone": 0, "much around it": 2 << 20} {
		t.Run(name, func(t *testing.T) {
			b := &stub.Backend{Started: make(chan struct{}), Release: make(chan struct{})}
			api, _ := ready(t, b, func(o *httpapi.Options) { o.MaxConcurrent, o.MaxInputBytes, o.MaxQueueBytes = 1, 8<<20, 512<<20 })
			text := []string{`{"input":"`, strings.Repeat("x", size-2), `",`, strings.Repeat(" ", padding), `"script":"wait","limits":{"timeoutMs":60000}}`}
			heap := func() int64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.GC() // what pools keep goes with the second
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)
			}
			before := heap()
			var wg sync.WaitGroup
			var bodies []*countdown
			for range n {
				body := &countdown{done: make(chan struct{})}
				var parts []io.Reader
				for _, s := range text {
					parts = append(parts, strings.NewReader(s))
				}
				body.Reader = io.MultiReader(parts...)
				bodies = append(bodies, body)
				wg.Go(func() {
					r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/eval", body)
					r.Header.Set("Content-Type", "application/json")
					assert.Equal(t, 200, do(api, r).Code)
				})
			}
			<-b.Started
			for _, body := range bodies {
				<-body.done
			}
			// Decoding follows reading: until it is over there is more.
			assert.Eventually(t, func() bool { return heap()-before < n*size*3/2 }, 20*time.Second, 10*time.Millisecond)
			assert.Greater(t, heap()-before, int64(n*size/2), "they do hold it")
			close(b.Release)
			go func() {
				for range b.Started {
				}
			}()
			wg.Wait()
			close(b.Started)
		})
	}
}

// countdown tells when it has been read.
type countdown struct {
	io.Reader
	once sync.Once
	done chan struct{}
}

func (c *countdown) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err == io.EOF {
		c.once.Do(func() { close(c.done) })
	}
	return n, err
}

// dial sends the head of an eval, and after it what body says.
func dial(t *testing.T, url string, length int, body string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "POST /v1/eval HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", length, body)
	require.NoError(t, err)
	return conn
}

func answered(t *testing.T, conn net.Conn) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	return resp
}

func TestWhoSendsNoBodyTakesNoPlace(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, func(o *httpapi.Options) { o.MaxConcurrent, o.MaxQueue = 1, 0 })
	url, stop, ended := served(t, api, time.Millisecond)
	for range 20 {
		dial(t, url, 60<<10, "{")
	}
	for range 3 {
		r := send(context.Background(), url, `{"script":"input"}`)
		require.NoError(t, r.err)
		assert.Equal(t, 200, r.status)
	}
	stop()
	assert.NoError(t, <-ended)
}

func TestAClientThatIsRefusedForItsBytesCanReadTheAnswerAfterSendingAll(t *testing.T) {
	t.Parallel()
	b := &stub.Backend{Started: make(chan struct{}), Release: make(chan struct{})}
	api, _ := ready(t, b, func(o *httpapi.Options) {
		o.MaxConcurrent, o.MaxInputBytes = 1, 4<<20
		o.MaxQueueBytes = o.MinQueueBytes()
	})
	url, stop, ended := served(t, api, time.Minute)
	large := strings.Repeat("x", 4<<20-2)
	got := make(chan reply, 1)
	go func() { got <- send(context.Background(), url, `{"script":"wait","input":"`+large+`"}`) }()
	<-b.Started
	body := `{"script":"input","input":"` + large + `"}`
	conn := dial(t, url, len(body), body) // writes to the end before it reads
	assert.Equal(t, 503, answered(t, conn).StatusCode)
	close(b.Release)
	assert.Equal(t, 200, (<-got).status)
	stop()
	assert.NoError(t, <-ended)
}

func TestABodyThatIsAnnouncedAsTooLargeIsRefusedBeforeItComes(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	url, stop, ended := served(t, api, time.Second)
	assert.Equal(t, 413, answered(t, dial(t, url, 100<<20, "")).StatusCode)
	stop()
	assert.NoError(t, <-ended)
}

// It waits for the whole ten seconds, as the deadline is net/http's to keep.
func TestAConnectionWhoseBodyDoesNotComeInTimeIsAnswered(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	api, _ := ready(t, &stub.Backend{}, nil)
	url, stop, ended := served(t, api, time.Second)
	assert.Equal(t, 408, answered(t, dial(t, url, 100, "{")).StatusCode)
	stop()
	assert.NoError(t, <-ended)
}

func TestABodyThatDoesNotComeInTimeIs408(t *testing.T) {
	t.Parallel()
	api, _ := ready(t, &stub.Backend{}, nil)
	w := do(api, func() *http.Request {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/eval", late{})
		r.Header.Set("Content-Type", "application/json")
		return r
	}())
	assert.Equal(t, 408, w.Code)
	assert.Contains(t, problemOf(t, w).Detail, "10 seconds")
}

// late is what a connection behind its deadline reads as.
type late struct{}

func (late) Read([]byte) (int, error) {
	return 0, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
}

func TestWhoWaitsForABackendIsAnsweredAtOnceWhenItWillNotCome(t *testing.T) {
	t.Parallel()
	for says, end := range map[string]func(*httpapi.API, context.CancelFunc){
		"the backend did not start": func(a *httpapi.API, stop context.CancelFunc) { a.Failed(); stop() },
		"the server is stopping":    func(_ *httpapi.API, stop context.CancelFunc) { stop() },
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			api, err := httpapi.New(options(io.Discard))
			require.NoError(t, err)
			url, stop, ended := served(t, api, time.Hour)
			got := make(chan reply, 1)
			body, sent := io.Pipe()
			go func() {
				r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/eval", body)
				r.Header.Set("Content-Type", "application/json")
				w := do(api, r)
				got <- reply{w.Code, w.Body.String(), nil}
			}()
			_, err = io.WriteString(sent, `{"script":"input"}`)
			require.NoError(t, err)
			require.NoError(t, sent.Close())
			slow := dial(t, url, 1000, "{")
			require.Equal(t, 503, answered(t, probe(t, url)).StatusCode) // the slow one is being read or will be
			end(api, stop)
			r := <-got
			assert.Equal(t, 503, r.status)
			assert.Contains(t, r.body, says)
			// A request whose head net/http reads once it stops is dropped by it.
			if resp, err := http.ReadResponse(bufio.NewReader(slow), nil); !errors.Is(err, io.ErrUnexpectedEOF) {
				require.NoError(t, err)
				assert.Equal(t, 503, resp.StatusCode)
			}
			assert.NoError(t, <-ended) // although its grace is an hour

			sb, err := sandbox.New(&stub.Backend{}, nil)
			require.NoError(t, err)
			api.Ready(map[string]httpapi.Evaluator{"stub": sb}) // too late
			w := do(api, httptest.NewRequest(http.MethodGet, "http://localhost/readyz", nil))
			assert.Equal(t, 503, w.Code)
			assert.Contains(t, problemOf(t, w).Detail, says)
			assert.Contains(t, do(api, post(`{"script":"input"}`)).Body.String(), says)
		})
	}
}

func probe(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = io.WriteString(conn, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	return conn
}
