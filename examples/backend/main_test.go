package subprocess

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	RunChild()
	runOddChild() // the children that the tests of this package need besides
	os.Exit(m.Run())
}
