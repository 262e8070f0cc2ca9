package egress

import (
	"context"
	"crypto/x509"
	"maps"
	"math"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// What the zero values of [Options] stand for.
const (
	DefaultTimeout             = 30 * time.Second
	DefaultConnectTimeout      = 10 * time.Second
	DefaultHeaderTimeout       = 20 * time.Second
	DefaultRequestBytes        = 1 << 20
	DefaultResponseHeaderBytes = 64 << 10
	DefaultResponseBytes       = 4 << 20
	DefaultDecodedBytes        = 4 << 20
	DefaultMaxRedirects        = 5
)

// Bounds that are fixed.
const (
	// MaxURLBytes is the length a URL may have, as given and in normal form.
	MaxURLBytes = 8 << 10
	// MaxRequestHeaderBytes is what names and values of a caller's headers may
	// take together.
	MaxRequestHeaderBytes = 32 << 10
	// MaxRequestHeaders is how many headers a caller may give.
	MaxRequestHeaders = 100
	// MinSecretBytes and MaxSecretBytes bound a secret. Shorter ones cannot be
	// masked without making text unreadable that only looks like them.
	MinSecretBytes = 8
	MaxSecretBytes = 4 << 10
)

// Resolver finds the addresses of a host. [net.Resolver] is one. It is asked
// once for each request, must honour ctx, and is called concurrently.
type Resolver interface {
	// LookupNetIP gives the addresses of host. The network is always "ip"; host
	// is a name in lower case, in its ASCII form, without a dot at its end.
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options of [New]. The zero value allows nothing.
type Options struct {
	// Rules are the allowlist. The first rule that covers a request decides what
	// is added to it and which addresses it may lead to.
	Rules []Rule
	// Secrets gives the values that {{secret:NAME}} in [Rule.Headers] stands for.
	// It is asked for all of them at each request, so that an echo of any is
	// masked; it must be quick and safe for concurrent use. A name that it does
	// not know refuses to start with, and later fails the request. Values are of
	// [MinSecretBytes] to [MaxSecretBytes]. See [SecretMap].
	Secrets func(name string) (value string, ok bool)

	// Resolver is asked for addresses. Default: the system's, with its search
	// domains for names of one label only.
	Resolver Resolver
	// RootCAs are trusted to sign for hosts. Default: the system's.
	RootCAs *x509.CertPool
	// UserAgent is sent if the caller gives none. Default: "sandboxd".
	UserAgent string

	// Timeout is for everything from the call until the body is there, redirects
	// included. Default: [DefaultTimeout].
	Timeout time.Duration
	// ConnectTimeout is for resolving, connecting and the TLS handshake of one
	// request. Default: [DefaultConnectTimeout].
	ConnectTimeout time.Duration
	// HeaderTimeout is from when a request is sent until all headers of its
	// response are there. Default: [DefaultHeaderTimeout].
	HeaderTimeout time.Duration

	// RequestBytes bounds a request's body. Default: [DefaultRequestBytes].
	RequestBytes int64
	// ResponseHeaderBytes bounds a response's status line and headers. Default:
	// [DefaultResponseHeaderBytes].
	ResponseHeaderBytes int64
	// ResponseBytes bounds a response's body as it is received. Default:
	// [DefaultResponseBytes].
	ResponseBytes int64
	// DecodedBytes bounds a response's body after decompression. Default:
	// [DefaultDecodedBytes].
	DecodedBytes int64
	// MaxRedirects is how many redirects are followed for one request. Default:
	// [DefaultMaxRedirects].
	MaxRedirects int

	// Observe, if set, is told of each refused request before the caller is. It
	// is called on the caller's goroutine, concurrently.
	Observe func(Denied)
}

// SecretMap gives the values that the map has now.
func SecretMap(values map[string]string) func(name string) (string, bool) {
	values = maps.Clone(values)
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

// withDefaults gives the options with every zero value replaced.
func (o Options) withDefaults() (Options, error) {
	for _, d := range []struct {
		field    string
		value    *time.Duration
		fallback time.Duration
	}{
		{"Timeout", &o.Timeout, DefaultTimeout},
		{"ConnectTimeout", &o.ConnectTimeout, DefaultConnectTimeout},
		{"HeaderTimeout", &o.HeaderTimeout, DefaultHeaderTimeout},
	} {
		switch {
		case *d.value < 0:
			return o, &OptionError{d.field, "must not be negative"}
		case *d.value == 0:
			*d.value = d.fallback
		}
	}
	for _, n := range []struct {
		field    string
		value    *int64
		fallback int64
	}{
		{"RequestBytes", &o.RequestBytes, DefaultRequestBytes},
		{"ResponseHeaderBytes", &o.ResponseHeaderBytes, DefaultResponseHeaderBytes},
		{"ResponseBytes", &o.ResponseBytes, DefaultResponseBytes},
		{"DecodedBytes", &o.DecodedBytes, DefaultDecodedBytes},
	} {
		switch {
		case *n.value < 0 || *n.value == math.MaxInt64: // one more is read to see the limit
			return o, &OptionError{n.field, "must be from 0 to 9223372036854775806"}
		case *n.value == 0:
			*n.value = n.fallback
		}
	}
	switch {
	case o.MaxRedirects < 0:
		return o, &OptionError{"MaxRedirects", "must not be negative"}
	case o.MaxRedirects == 0:
		o.MaxRedirects = DefaultMaxRedirects
	}
	if o.UserAgent == "" {
		o.UserAgent = "sandboxd"
	}
	if !httpguts.ValidHeaderFieldValue(o.UserAgent) {
		return o, &OptionError{"UserAgent", "must be one line of text"}
	}
	if o.Resolver == nil {
		o.Resolver = rootedResolver{net.DefaultResolver}
	}
	return o, nil
}

// rootedResolver asks for a name as it stands. Without the dot, the search
// domains of the machine could turn a listed name into another one. A name of one
// label, such as localhost, is the machine's own to explain, and not found in its
// hosts file with a dot.
type rootedResolver struct{ inner Resolver }

func (r rootedResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if strings.Contains(host, ".") {
		host += "."
	}
	return r.inner.LookupNetIP(ctx, network, host)
}
