package seal

import (
	"errors"
	"runtime"

	"github.com/klauspost/compress/zstd"
)

const (
	// windowBytes is how far the encoder looks back. States are small, and each
	// encoder keeps a buffer of twice this size.
	windowBytes = 1 << 20
	// parallel is how many encoders, and decoders, a ring keeps at most.
	parallel = 4
	// inflation is how much one byte of a frame can become: a block of 4 bytes is
	// at most 128 KiB of the same byte.
	inflation = 128 << 10 / 4
	// slackBytes is what the decoder wants behind its output to copy fast.
	slackBytes = 16
)

// codec compresses and inflates. Its parts are made when they are first needed
// and start no goroutines.
type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newCodec() (*codec, error) {
	n := min(parallel, runtime.GOMAXPROCS(0))
	encoder, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(windowBytes),
		zstd.WithEncoderConcurrency(n),
		zstd.WithEncoderCRC(false), // the tag covers it
	)
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(n),
		zstd.WithDecoderMaxWindow(windowBytes),
		zstd.WithDecodeAllCapLimit(true), // each call has its own bound
	)
	if err != nil {
		return nil, err
	}
	return &codec{encoder: encoder, decoder: decoder}, nil
}

// body returns what is to be encrypted. It may be longer than maxBytes.
func (c *codec) body(b Binding, state []byte, maxBytes int64) []byte {
	names := len(b.Kind) + len(b.Audience) + len(b.Image)
	likely := min(int64(len(state)), max(maxBytes, 0))
	dst := make([]byte, 0, int64(names+bodyOverhead)+likely+64)
	return c.encoder.EncodeAll(state, appendBody(dst, b, len(state)))
}

// inflate returns the state in frame, which must have exactly stateBytes.
func (c *codec) inflate(frame []byte, stateBytes int64) ([]byte, error) {
	if stateBytes > int64(len(frame))*inflation {
		return nil, ErrUnreadable // and no memory for a length that cannot be true
	}
	out, err := c.decoder.DecodeAll(frame, make([]byte, 0, stateBytes+slackBytes))
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return nil, ErrTooLarge
	case err != nil || int64(len(out)) != stateBytes:
		return nil, ErrUnreadable
	}
	return out[:len(out):len(out)], nil
}
