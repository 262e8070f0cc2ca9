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

// errEnded: foreign code called runtime.Goexit, as FailNow of a test does.
var errEnded = errors.New("ended its goroutine")

// background runs f in a goroutine of its own. A backend that panics there or
// ends the goroutine fails the check and not the program.
func background[T any](f func() (T, error)) <-chan answer[T] {
	done := make(chan answer[T], 1)
	go func() {
		var a answer[T]
		returned := false
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("panicked: %v\n%s", p, debug.Stack())
			} else if !returned {
				a.err = errEnded
			}
			done <- a
		}()
		a.value, a.err = f()
		returned = true
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
