//go:build !unix

package subprocess

// joinHost does nothing: there are no process groups.
func joinHost() error { return nil }
