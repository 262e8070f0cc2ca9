package conformance

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// answer is what a goroutine came back with.
type answer[T any] struct {
	value T
	err   error
}

// background runs f in a goroutine of its own. A backend that panics there
// fails the check and not the program.
func background[T any](f func() (T, error)) <-chan answer[T] {
	done := make(chan answer[T], 1)
	go func() {
		var a answer[T]
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("panicked: %v\n%s", p, debug.Stack())
			}
			done <- a
		}()
		a.value, a.err = f()
	}()
	return done
}

// together runs f n times at once and joins what went wrong.
func together(n int, f func(i int) error) error {
	pending := make([]<-chan answer[none], n)
	for i := range pending {
		pending[i] = background(func() (none, error) { return none{}, f(i) })
	}
	var errs []error
	for i, p := range pending {
		if a := <-p; a.err != nil {
			errs = append(errs, fmt.Errorf("number %d of %d: %w", i+1, n, a.err))
		}
	}
	return errors.Join(errs...)
}
