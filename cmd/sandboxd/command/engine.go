package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
func (f *engineFlags) resolve(logger *slog.Logger) (Settings, error) {
	s := Settings{CacheDir: string(f.CacheDir), NoCache: f.NoCache, Logger: logger}
	if f.NoCache && f.CacheDir != "" {
		return s, usagef("--cache-dir and --no-cache exclude each other; allowed is one of them")
	}
	if (f.EngineImage == "") != (f.EngineImageSHA256 == "") {
		return s, usagef("--engine-image and --engine-image-sha256 must be given together")
	}
	if f.EngineImage == "" {
		return s, nil
	}
	sum := strings.ToLower(strings.TrimPrefix(string(f.EngineImageSHA256), "sha256:"))
	if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size {
		return s, usagef("--engine-image-sha256 is not a SHA-256 sum; allowed is 64 hex digits")
	}
	image, err := readAtMost(nil, string(f.EngineImage), maxImageBytes)
	if err != nil {
		return s, usagef("--engine-image %s: %v", f.EngineImage, err)
	}
	if len(image) == 0 || len(image) > maxImageBytes {
		return s, usagef("--engine-image %s has no usable size; allowed is 1B to %s", f.EngineImage, size(maxImageBytes))
	}
	if got := sha256.Sum256(image); hex.EncodeToString(got[:]) != sum {
		return s, usagef("--engine-image %s has the SHA-256 %x, not the one of --engine-image-sha256", f.EngineImage, got)
	}
	s.EngineImage, s.EngineImageSHA256 = image, sum
	return s, nil
}

// start starts a backend. Nothing but ctx can make it a limit's fault.
func start(ctx context.Context, b *Backend, s Settings) (spi.Backend, error) {
	backend, err := b.New(ctx, s)
	if err == nil {
		return backend, nil
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil, &limitError{"cancelled: the eval was cancelled before the script started"}
	}
	return nil, fmt.Errorf("backend %s did not start: %w", b.Name, err)
}
