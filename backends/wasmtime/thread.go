//go:build cgo && linux && amd64

package wasmtime

import (
	"fmt"
	"runtime"
	"syscall"
)

// needStackBytes is what a thread must have left before a guest is called: what
// the guest may use, and something for the engine and the way back to Go.
const needStackBytes = maxStackBytes + 512<<10

// onAnotherThread runs f on a thread that is not this one. The main thread shares
// its stack with the arguments and the environment of the process, which may
// take a quarter of it.
func onAnotherThread[T any](f func() T) T {
	runtime.LockOSThread() // so that it cannot be this one
	defer runtime.UnlockOSThread()
	done := make(chan T)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- f()
	}()
	return <-done
}

// onOrdinaryThread runs f on a thread that is neither this one nor the main one.
func onOrdinaryThread[T any](f func() T) T {
	return onAnotherThread(func() T {
		if syscall.Gettid() == syscall.Getpid() {
			return onAnotherThread(f)
		}
		return f()
	})
}

// Unavailable says why this build or this machine cannot run the backend; it is
// empty where New can be tried. It looks at a thread of this process, since
// threads get their stacks by the limit that the process was started with.
func Unavailable() string {
	if room := onOrdinaryThread(threadRoom); room < needStackBytes {
		return fmt.Sprintf("thread stacks of %d KiB are too small; allowed is a limit of %d KiB or more when the process starts, such as 'ulimit -s %d'",
			(room+1023)>>10, MinThreadStackBytes>>10, MinThreadStackBytes>>10)
	}
	return ""
}
