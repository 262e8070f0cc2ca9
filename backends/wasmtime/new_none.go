//go:build !(cgo && linux && amd64)

package wasmtime

import (
	"context"
	"fmt"
	"runtime"
)

// Unavailable says why this build or this machine cannot run the backend; it is
// empty where New can be tried.
func Unavailable() string {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Sprintf("not part of builds for %s/%s; allowed is linux/amd64", runtime.GOOS, runtime.GOARCH)
	}
	return "built without cgo; build with CGO_ENABLED=1 and a C compiler"
}

// New fails with [ErrUnavailable]: nothing of wasmtime is linked into this build.
func New(context.Context, *Options) (*Backend, error) {
	return nil, fmt.Errorf("%w: %s", ErrUnavailable, Unavailable())
}
