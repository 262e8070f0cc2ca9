package egress

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAddressesAreDialledOnlyIfARuleMayLeadToThem(t *testing.T) {
	t.Parallel()
	const public, private, never = "public", "private", "never"
	table := newAddressTable()
	for text, want := range map[string]string{
		"1.1.1.1": public, "8.8.8.8": public, "93.184.216.34": public, "::ffff:8.8.8.8": public, "223.255.255.255": public,
		"2606:4700::1111": public, "2a00:1450:4001::1": public, "2400:cb00::1": public, "100.128.0.0": public, "172.32.0.1": public,
		"11.0.0.0": public, "192.169.0.0": public, "169.255.0.0": public, "198.20.0.0": public,

		"127.0.0.1": private, "127.255.255.255": private, "::1": private, "::ffff:127.0.0.1": private, "10.0.0.0": private,
		"10.255.255.255": private, "172.16.0.0": private, "172.31.255.255": private, "192.168.0.1": private, "fc00::1": private,
		"fdff::1": private, "100.64.0.1": private, "100.127.255.255": private, "198.18.0.0": private, "198.19.255.255": private,

		"0.0.0.0": never, "0.1.2.3": never, "::": never, "::ffff:0.0.0.0": never, "169.254.0.1": never, "169.254.169.254": never,
		"169.254.170.2": never, "100.100.100.200": never, "168.63.129.16": never, "192.0.0.192": never, "fd00:ec2::254": never,
		"fd00:ec2::23": never, "fd20:ce::254": never, "fd00:42::42": never, "fd00:c1::a9fe:a9fe": never, "fe80::1": never,
		"febf::1": never, "fec0::1": never, "224.0.0.1": never, "239.255.255.255": never, "ff02::1": never, "240.0.0.1": never,
		"255.255.255.255": never, "192.0.0.1": never, "192.0.2.1": never, "198.51.100.1": never, "203.0.113.1": never,
		"192.31.196.1": never, "192.52.193.1": never, "192.88.99.1": never, "192.175.48.1": never, "2001:db8::1": never,
		"3fff::1": never, "100::1": never, "5f00::1": never, "2001:2::1": never, "2001:20::1": never, "2620:4f:8000::1": never,
		"::2": never, "::127.0.0.1": never, "::8.8.8.8": never, "::ffff:0:127.0.0.1": never, "64:ff9b::8.8.8.8": never,
		"64:ff9b::10.0.0.1": never, "64:ff9b:1::1": never, "64:ff9b:1:ffff::1": never, "2002:808:808::1": never, "2001::1": never,
		"2606:4700::5efe:a00:1": never, "2606:4700::200:5efe:a00:1": never, "fd12::5efe:a00:1": never, "4000::1": never,
		"8000::1": never, "::ffff:169.254.169.254": never, "fe80::1%eth0": never, "2606:4700::1%1": never,
	} {
		addr := netip.MustParseAddr(text)
		got, problem := table.check(addr, false)
		assert.Equal(t, want == public, problem == nil, "%s for a rule that allows public addresses", text)
		_, dangerous := table.check(addr, true)
		assert.Equal(t, want != never, dangerous == nil, "%s for a rule that allows private addresses", text)
		if problem == nil {
			assert.Equal(t, addr.Unmap(), got, "the address is dialled as what was checked")
		}
	}
	_, problem := table.check(netip.Addr{}, true)
	assert.NotNil(t, problem, "no address")
}

// FuzzAddressesThatPassArePublicToTheStandardLibraryToo compares with what
// package netip says, and with the addresses that others hide inside.
func FuzzAddressesThatPassArePublicToTheStandardLibraryToo(f *testing.F) {
	for _, text := range []string{"1.1.1.1", "127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "64:ff9b::1", "2a00::5efe:a00:1", "fd00::1", "::1"} {
		f.Add(netip.MustParseAddr(text).AsSlice())
	}
	table := newAddressTable()
	f.Fuzz(func(t *testing.T, raw []byte) {
		addr, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		got, problem := table.check(addr, false)
		if _, dangerous := table.check(addr, true); problem == nil && dangerous != nil {
			t.Fatalf("%s is allowed to rules without the dangerous option only", addr)
		}
		if problem != nil {
			return
		}
		if got.Is4In6() || got.Zone() != "" || got != addr.Unmap() {
			t.Fatalf("%s is dialled as %s", addr, got)
		}
		if !got.IsGlobalUnicast() || got.IsPrivate() || got.IsLoopback() || got.IsLinkLocalUnicast() || got.IsUnspecified() || got.IsMulticast() {
			t.Fatalf("%s is not public", got)
		}
		if got.Is6() && got.As16()[0]>>5 != 1 {
			t.Fatalf("%s is outside of what is routed", got)
		}
	})
}

func TestTheAddressIsCheckedOnceMoreWhenItIsDialled(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	c, err := New(Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	addr := l.Addr().(*net.TCPAddr).AddrPort()
	addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())

	_, err = c.dialAddress(ctx, addr, false)
	var problem *addressError
	require.ErrorAs(t, err, &problem)
	assert.Equal(t, "loopback", problem.class)

	conn, err := c.dialAddress(ctx, addr, true)
	require.NoError(t, err)
	assert.Equal(t, addr.String(), conn.RemoteAddr().String())
	require.NoError(t, conn.Close())
}

func TestTheNextAddressIsTriedIfOneDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "api.example.com:443")
	w.names["api.example.com"] = [][]string{{"93.184.216.1", "93.184.216.2", apiAddr}}
	got, err := w.fetch(&Request{URL: apiURL})
	require.NoError(t, err)
	assert.Equal(t, 200, got.Status)
	assert.Equal(t, []string{"93.184.216.1", "93.184.216.2", apiAddr}, w.dialed)
	assert.Len(t, w.asked, 1)
}

func TestOnlySomeOfManyAddressesAreTriedAndTooManyAreRefused(t *testing.T) {
	t.Parallel()
	for count, dialled := range map[int]int{maxDialled: maxDialled, maxAddresses: maxDialled, maxAddresses + 1: 0} {
		w := newWorld(t, nil, "api.example.com:443")
		many := make([]string, count)
		for i := range many {
			many[i] = netip.AddrFrom4([4]byte{93, 184, byte(i >> 8), byte(i)}).String()
		}
		w.names["api.example.com"] = [][]string{many}
		delete(w.routes, apiAddr)
		_, err := w.fetch(&Request{URL: apiURL})
		var failed *FailedError
		require.ErrorAs(t, err, &failed)
		assert.Len(t, w.dialed, dialled)
	}
}

func TestSearchDomainsAreForNamesOfOneLabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, name := range []string{"api.example.com", "localhost"} {
		_, err := rootedResolver{w}.LookupNetIP(context.Background(), "ip", name)
		require.Error(t, err)
	}
	assert.Equal(t, []string{"api.example.com.", "localhost"}, w.asked)
}
