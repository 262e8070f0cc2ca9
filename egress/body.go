package egress

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
)

// acceptEncoding is what is asked for; nothing else is decoded.
const acceptEncoding = "gzip, deflate"

// Causes of failures while a response is read.
var (
	errReceivedLimit = errors.New("egress: the body as received is over its limit")
	errDecodedLimit  = errors.New("egress: the body after decompression is over its limit")
	errEncoding      = errors.New("egress: the body has a content encoding that was not asked for")
)

// readBody reads and decodes the body of a response. Both limits hold while it is
// read, so that what is small on the wire and large in memory stops at the second.
func readBody(res *http.Response, received, decoded int64) ([]byte, error) {
	if res.ContentLength > received && res.Request.Method != http.MethodHead {
		return nil, errReceivedLimit
	}
	wire := bufio.NewReader(&limited{inner: res.Body, left: received, over: errReceivedLimit})
	if _, err := wire.Peek(1); err != nil { // nothing there: nothing to decode
		if errors.Is(err, io.EOF) {
			return []byte{}, nil
		}
		return nil, err
	}
	plain, err := decoder(res.Header.Values("Content-Encoding"), wire)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(&limited{inner: plain, left: decoded, over: errDecodedLimit})
}

func decoder(encodings []string, wire *bufio.Reader) (io.Reader, error) {
	switch strings.ToLower(strings.TrimSpace(strings.Join(encodings, ","))) {
	case "", "identity":
		return wire, nil
	case "gzip", "x-gzip":
		return gzip.NewReader(wire)
	case "deflate":
		// The name means the zlib format; some servers leave its header out.
		if head, err := wire.Peek(2); err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			return zlib.NewReader(wire)
		}
		return flate.NewReader(wire), nil
	}
	return nil, errEncoding
}

// limited fails when more than its limit comes out of inner. Reaching the limit
// exactly is allowed.
type limited struct {
	inner io.Reader
	left  int64
	over  error
}

func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.inner.Read(p)
	if int64(n) > l.left {
		return 0, l.over
	}
	l.left -= int64(n)
	return n, err
}
