//go:build !linux

package pristine

import "errors"

type canary struct{}

func newCanary() (*canary, error) { return nil, errors.ErrUnsupported }

func (*canary) dead() bool { return true }

func (*canary) free() {}
