package conformance

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func TestForeignCodeThatEndsItsGoroutineFails(t *testing.T) {
	t.Parallel()
	f := &factory{}
	f.make = func() *fakeBackend {
		return &fakeBackend{eval: func(context.Context, *spi.Request) (*spi.Outcome, error) { runtime.Goexit(); return nil, nil }}
	}
	r := newRunner(t, f, nil)
	result := r.Run(t.Context(), check(script{source: "1", value: "1"}.body()))
	require.Equal(t, Fail, result.Outcome)
	require.Equal(t, "ended its goroutine", result.Detail)
	require.EqualValues(t, 1, f.made[0].closed.Load())

	result = r.Run(t.Context(), check(func(context.Context, *subject) error {
		return together(2, func(int) error { runtime.Goexit(); return nil })
	}))
	require.Equal(t, Fail, result.Outcome)
	require.Contains(t, result.Detail, "number 2 of 2: ended its goroutine")

	_, err := NewRunner(t.Context(), &Harness{New: func(context.Context) (spi.Backend, error) { runtime.Goexit(); return nil, nil }})
	require.ErrorContains(t, err, "no backend could be made: ended its goroutine")
	_, err = NewRunner(t.Context(), &Harness{New: func(context.Context) (spi.Backend, error) {
		return &fakeBackend{describe: func() spi.Descriptor { runtime.Goexit(); return spi.Descriptor{} }}, nil
	}})
	require.ErrorContains(t, err, "does not describe itself: ended its goroutine")
}

func TestEndingTheRunEndsTheWaitForWhatHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	began := make(chan struct{})
	f := &factory{}
	f.make = func() *fakeBackend {
		return &fakeBackend{eval: func(context.Context, *spi.Request) (*spi.Outcome, error) { close(began); <-release; return nil, nil }}
	}
	r := newRunner(t, f, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-began; cancel(errors.New("somebody pressed a key")) }()
	hung := check(script{source: "1", value: "null"}.body())
	hung.Watchdog = time.Hour
	result := r.Run(ctx, hung)
	require.Equal(t, Error, result.Outcome)
	require.Equal(t, "the run was ended: somebody pressed a key", result.Detail)
	require.Nil(t, r.backend, "it is left behind")
	require.Eventually(t, func() bool { return f.made[0].closed.Load() == 1 }, 10*time.Second, time.Millisecond)
}

func TestEndingTheRunEndsTheWaitForNewWhoseBackendIsClosedAllTheSame(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{}
	began, release := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	_, err := NewRunner(ctx, &Harness{New: func(context.Context) (spi.Backend, error) { close(began); <-release; return b, nil }})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, b.closed.Load())
	close(release)
	require.Eventually(t, func() bool { return b.closed.Load() == 1 }, 10*time.Second, time.Millisecond)
}
