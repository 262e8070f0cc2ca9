package pristine

import "unsafe"

// address is where mem begins. It is a number only, to be asked the kernel about;
// nothing makes a pointer of it.
func address(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }
