package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
)

// Client sends requests that its rules cover, and no others. It is safe for
// concurrent use and holds nothing that must be closed.
type Client struct {
	options Options
	rules   []rule
	names   []string // of secrets in rules
	table   *addressTable

	// dial is dialAddress; tests lead public addresses to servers of their own.
	dial func(ctx context.Context, addr netip.AddrPort, allowPrivate bool) (net.Conn, error)
}

// New checks the options and makes a client. Without rules it denies everything.
// Errors are [*OptionError].
func New(options Options) (*Client, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{options: options, table: newAddressTable()}
	c.dial = c.dialAddress
	for i, r := range options.Rules {
		compiled, err := newRule(r)
		if problem, ok := errors.AsType[*OptionError](err); ok {
			return nil, &OptionError{fmt.Sprintf("Rules[%d].%s", i, problem.Field), problem.Problem}
		}
		c.rules = append(c.rules, compiled)
	}
	c.names = secretNames(c.rules)
	if _, err := c.secrets(); err != nil {
		return nil, err
	}
	return c, nil
}

// Empty reports whether there are no rules, so that every request is denied.
func (c *Client) Empty() bool { return len(c.rules) == 0 }

// secrets asks for all secrets that rules name.
func (c *Client) secrets() (map[string]string, error) {
	values := make(map[string]string, len(c.names))
	for _, name := range c.names {
		if c.options.Secrets == nil {
			return nil, &OptionError{"Secrets", "must be set, because rules name secrets"}
		}
		value, ok := c.options.Secrets(name)
		if !ok {
			return nil, &OptionError{"Secrets", "must know " + name + ", which a rule names"}
		}
		if problem := problemOfSecret(value); problem != "" {
			return nil, &OptionError{"Secrets", "give " + name + " a value that is not allowed: it " + problem}
		}
		values[name] = value
	}
	return values, nil
}

// begin starts what one call of a caller's needs: its secrets and their mask.
func (c *Client) begin() (*call, error) {
	values, err := c.secrets()
	if err != nil {
		return nil, fail(err, "a secret is not available")
	}
	return &call{client: c, values: values, mask: newMask(values)}, nil
}

// call is one Fetch with its redirects, or one RoundTrip.
type call struct {
	client *Client
	values map[string]string // secrets by name
	mask   mask
}

// hop is one request of a call.
type hop struct {
	target     target
	method     string
	header     http.Header // the caller's
	body       []byte
	redirected bool
}

// refuse tells the observer, and gives what the caller may see.
func (k *call) refuse(h hop, err error) error {
	var seen Denied
	denied, ok := errors.AsType[*DeniedError](err)
	if address, is := errors.AsType[*refusedAddress](err); is {
		denied, ok = address.denied, true
		seen.Address, seen.Class = address.found.addr, address.found.class
	}
	if !ok {
		return err
	}
	denied = k.mask.denied(denied)
	if observe := k.client.options.Observe; observe != nil {
		seen.Kind, seen.Reason, seen.Redirected = denied.Kind, denied.Reason, h.redirected
		seen.Method, seen.Host, seen.Port = h.method, k.mask.text(h.target.host.name), h.target.port
		observe(seen)
	}
	return denied
}
