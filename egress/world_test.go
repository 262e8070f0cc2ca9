package egress

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain puts a proxy that nobody may use into the environment of all tests.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		if err := os.Setenv(name, "http://127.0.0.1:1"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// Addresses that the names of the tests have: public ones, so that the real
// table lets them pass.
const (
	apiAddr   = "93.184.216.34"
	otherAddr = "93.184.216.35"
	apiURL    = "https://api.example.com"
	secret    = "s3cr3t/Val+ue&\"42\""
)

// world is a small internet: names, addresses and servers on loopback behind
// them. Only the last step, the connection, is led astray; all checks are real.
type world struct {
	t       *testing.T
	options Options

	mu     sync.Mutex
	names  map[string][][]string // answers in order; the last one stays
	routes map[string]string     // IP address to a listener
	asked  []string              // names that were looked up
	dialed []string              // addresses that were connected to
	denied []Denied
}

// newWorld has api.example.com with this handler, and other.example.com, which
// answers with what it was sent.
func newWorld(t *testing.T, api http.HandlerFunc, rules ...string) *world {
	t.Helper()
	w := &world{
		t:      t,
		names:  map[string][][]string{"api.example.com": {{apiAddr}}, "other.example.com": {{otherAddr}}},
		routes: map[string]string{},
	}
	if api == nil {
		api = echo
	}
	site := w.serveTLS(apiAddr, api)
	w.serveTLS(otherAddr, echo)
	w.options = Options{
		Resolver: w,
		RootCAs:  x509.NewCertPool(),
		Secrets:  SecretMap(map[string]string{"API": secret}),
		Observe: func(d Denied) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.denied = append(w.denied, d)
		},
	}
	w.options.RootCAs.AddCert(site.Certificate()) // httptest has one for example.com and *.example.com
	w.allow(rules...)
	return w
}

func (w *world) allow(rules ...string) {
	w.t.Helper()
	for _, text := range rules {
		r, err := ParseRule(text)
		require.NoError(w.t, err, text)
		w.options.Rules = append(w.options.Rules, r)
	}
}

func (w *world) serveTLS(addr string, handler http.HandlerFunc) *httptest.Server {
	s := httptest.NewUnstartedServer(handler)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // who hangs up is expected
	s.StartTLS()
	w.t.Cleanup(s.Close)
	w.routes[addr] = s.Listener.Addr().String()
	return s
}

// serveRaw sends bytes as they are to whoever connects, without TLS.
func (w *world) serveRaw(addr string, talk func(conn net.Conn)) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(w.t, err)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer conn.Close()
				talk(conn)
			})
		}
	})
	w.t.Cleanup(func() {
		l.Close()
		open.Wait()
	})
	w.routes[addr] = l.Addr().String()
}

// LookupNetIP implements Resolver.
func (w *world) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, host)
	answers, ok := w.names[host]
	if !ok || network != "ip" {
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.9.8.7:53", IsNotFound: true}
	}
	if len(answers) > 1 {
		w.names[host] = answers[1:]
	}
	var out []netip.Addr
	for _, a := range answers[0] {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

func (w *world) client() *Client {
	w.t.Helper()
	c, err := New(w.options)
	require.NoError(w.t, err)
	c.dial = func(ctx context.Context, addr netip.AddrPort, _ bool) (net.Conn, error) {
		w.mu.Lock()
		w.dialed = append(w.dialed, addr.Addr().String())
		to, ok := w.routes[addr.Addr().String()]
		w.mu.Unlock()
		if !ok {
			return nil, fmt.Errorf("nobody listens at %s", addr)
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", to)
	}
	return c
}

func (w *world) fetch(r *Request) (*Response, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return w.client().Fetch(ctx, r)
}

// echo writes what it was sent: request line, headers, body.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // read before the response is sent
	fmt.Fprintf(w, "%s %s\nHost: %s\n", r.Method, r.RequestURI, r.Host)
	_ = r.Header.Write(w)
	fmt.Fprintf(w, "\n%s", body)
}

// netConn is what serveRaw hands to a test.
type netConn = net.Conn

// never is a resolver that does not answer.
type never struct{}

func (never) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
