//go:build !linux

package integration

// runAsChild says whether this process is a measurement, which only Linux has.
func runAsChild() (ran bool, status int) { return false, 0 }

// residentBytes is zero: only Linux says it without leaving Go.
func residentBytes() (int64, error) { return 0, nil }
