//go:build !linux

package pristine

import (
	"errors"
	"os"
)

func (im *Image) openFiles() {}

func (im *Image) closeFiles() error { return nil }

func (im *Image) remapWorks() bool { return false }

func threadFaults() int64 { return 0 }

func (im *Image) faultsAreCounted() bool { return false }

func mapFile([]byte, *os.File) error { return errors.ErrUnsupported }

func giveBack([]byte) error { return errors.ErrUnsupported }
