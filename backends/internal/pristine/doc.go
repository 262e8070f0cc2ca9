// Package pristine keeps memory of WebAssembly guests that is made pristine by
// restoring only what changed. An [Image] is what memory holds at its start; after
// an eval [Image.Restore] makes it equal again, byte for byte.
package pristine
