package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// maxImageBytes bounds the file of --engine-image.
const maxImageBytes = 64 << 20

// engineFlags are the flags of every command that starts a backend.
type engineFlags struct {
	EngineImage       word `group:"Engine:" placeholder:"FILE" help:"Run this QuickJS reactor build instead of the built-in one."`
	EngineImageSHA256 word `group:"Engine:" name:"engine-image-sha256" placeholder:"SUM" help:"Expected SHA-256 of --engine-image, 64 hex digits. Required with it."`
	CacheDir          word `group:"Engine:" placeholder:"DIR" help:"Keep compiled code here; only you may be able to write to it. Default: a directory of the backend's under your user cache directory."`
	NoCache           bool `group:"Engine:" help:"Keep nothing on disk; starting takes longer."`
}

// resolve reads and checks what the flags name.
func (f *engineFlags) resolve(ctx context.Context, from *settings, logger *slog.Logger) (Settings, error) {
	s := Settings{Logger: logger}
	keep, noCache, err := from.opposed("cache-dir", "no-cache", f.CacheDir != "", f.NoCache)
	if err != nil {
		return s, err
	}
	if s.NoCache = noCache; keep {
		s.CacheDir = string(f.CacheDir)
	}
	if (f.EngineImage == "") != (f.EngineImageSHA256 == "") {
		return s, usagef("--engine-image and --engine-image-sha256 must be given together")
	}
	if f.EngineImage == "" {
		return s, nil
	}
	sum := strings.TrimPrefix(strings.ToLower(string(f.EngineImageSHA256)), "sha256:")
	if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size {
		return s, usagef("--engine-image-sha256 is not a SHA-256 sum; allowed is 64 hex digits")
	}
	name := "--engine-image " + shortenPath(string(f.EngineImage))
	image, err := readAtMost(ctx, nil, string(f.EngineImage), maxImageBytes)
	if err != nil {
		return s, unread(name, err)
	}
	if len(image) == 0 || len(image) > maxImageBytes {
		return s, usagef("%s has no usable size; allowed is 1B to %s", name, size(maxImageBytes))
	}
	if got := sha256.Sum256(image); hex.EncodeToString(got[:]) != sum {
		return s, usagef("%s has the SHA-256 %x, not the one of --engine-image-sha256", name, got)
	}
	s.EngineImage, s.EngineImageSHA256 = image, sum
	return s, nil
}

// start starts a backend. A start that fails after ctx has ended is cancelled,
// whatever it says: an engine that is stopped halfway may word it as a fault.
func start(ctx context.Context, b *Backend, s Settings) (spi.Backend, error) {
	backend, err := b.New(ctx, s)
	switch {
	case err == nil:
		return backend, nil
	case ctx.Err() != nil:
		return nil, &cancelError{}
	}
	return nil, fmt.Errorf("backend %s did not start: %w", b.Name, err)
}
