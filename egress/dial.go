package egress

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// maxAddresses is how many addresses an answer may have, and maxDialled how many
// of them are tried.
const (
	maxAddresses = 256
	maxDialled   = 4
)

// addresses resolves the host, once, and checks every address. One that is not
// allowed refuses all: whoever answers so is not to be trusted with the others.
func (c *Client) addresses(ctx context.Context, t target, r *rule) ([]netip.AddrPort, error) {
	found := []netip.Addr{t.host.addr}
	if _, literal := t.literal(); !literal {
		var err error
		found, err = c.options.Resolver.LookupNetIP(ctx, "ip", t.host.name)
		if err == nil && len(found) == 0 {
			err = errNoAddress
		}
		if err != nil {
			return nil, fail(err, "no address was found for %s", t.host.name)
		}
	}
	if len(found) > maxAddresses {
		return nil, fail(nil, "%s has too many addresses", t.host.name)
	}
	out := make([]netip.AddrPort, 0, len(found))
	for _, addr := range found {
		checked, problem := c.table.check(addr, r.DangerouslyAllowPrivateAddresses)
		if problem != nil {
			return nil, &refusedAddress{
				denied: deny(KindAddress, "%s does not lead to an address that may be reached", t.host.name),
				found:  problem,
			}
		}
		out = append(out, netip.AddrPortFrom(checked, t.port))
	}
	return out, nil
}

// refusedAddress carries what only operators may see on its way to the observer.
type refusedAddress struct {
	denied *DeniedError
	found  *addressError
}

func (e *refusedAddress) Error() string { return e.denied.Error() }

// connect makes a connection to one of the addresses that were checked, with TLS
// if the URL asks for it. The name stays that of the URL.
func (c *Client) connect(ctx context.Context, t target, r *rule) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.ConnectTimeout)
	defer cancel()
	addrs, err := c.addresses(ctx, t, r)
	if err != nil {
		return nil, err
	}
	if len(addrs) > maxDialled {
		addrs = addrs[:maxDialled]
	}
	conn, err := c.dialFirst(ctx, addrs, r.DangerouslyAllowPrivateAddresses)
	if err != nil {
		return nil, fail(err, "connection to %s failed", t.authority())
	}
	if t.scheme == "http" {
		return conn, nil
	}
	// No session is kept and HTTP/2 is not offered: a connection is for one request.
	secure := tls.Client(conn, &tls.Config{
		ServerName: t.host.name,
		RootCAs:    c.options.RootCAs,
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
	})
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fail(err, "secure connection to %s failed", t.authority())
	}
	return secure, nil
}

// dialFirst tries one address after the other. Each gets its share of the time
// that is left.
func (c *Client) dialFirst(ctx context.Context, addrs []netip.AddrPort, allowPrivate bool) (net.Conn, error) {
	var first error
	for i, addr := range addrs {
		conn, err := func() (net.Conn, error) {
			deadline, _ := ctx.Deadline()
			share := time.Until(deadline) / time.Duration(len(addrs)-i)
			ctx, cancel := context.WithTimeout(ctx, share)
			defer cancel()
			return c.dial(ctx, addr, allowPrivate)
		}()
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// dialAddress connects to exactly this address. The address is checked once more
// when the system is about to connect.
func (c *Client) dialAddress(ctx context.Context, addr netip.AddrPort, allowPrivate bool) (net.Conn, error) {
	dialer := net.Dialer{
		KeepAlive: -1,
		Control: func(_, address string, _ syscall.RawConn) error {
			got, err := netip.ParseAddrPort(address)
			if err != nil || got != addr {
				return fmt.Errorf("egress: about to connect to %s in place of %s", address, addr)
			}
			if _, problem := c.table.check(got.Addr(), allowPrivate); problem != nil {
				return problem
			}
			return nil
		},
	}
	return dialer.DialContext(ctx, "tcp", addr.String())
}
