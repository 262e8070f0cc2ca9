//go:build !unix

package enginetest

import "testing"

// TestCacheOfOthers demands that what somebody else may write is not executed.
// This system has no such permissions to look at.
func TestCacheOfOthers(t *testing.T, _ Starter) {
	t.Skip("no Unix permissions on this system")
}
