// Package integration tests the whole: scripts that go through sandbox to an
// engine and come back as labelled JSON. It has no code of its own.
//
// The cases of testdata/cases are the demands that embedded engines in general
// failed to meet; the tables in the test files add the demands of this one.
package integration
