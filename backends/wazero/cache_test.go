package wazero

import (
	"context"
	"log/slog"
	"testing"

	"github.com/loom-sandbox/sandboxd/backends/internal/enginetest"
	"github.com/loom-sandbox/sandboxd/spi"
)

func startCached(ctx context.Context, dir string, log *slog.Logger) (spi.Backend, error) {
	return New(ctx, &Options{CacheDir: dir, Logger: log})
}

func TestASpoiltCacheIsMadeAgainWithAWarning(t *testing.T) {
	enginetest.TestCache(t, Name, startCached)
}

func TestACacheOfOthersIsNotTrusted(t *testing.T) { enginetest.TestCacheOfOthers(t, startCached) }
