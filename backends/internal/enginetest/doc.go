// Package enginetest is what the tests of every WebAssembly engine share: the
// cost of the guards, the time to start, and what happens to a spoilt cache.
package enginetest
