// Package conformance is what every backend must do, as checks that anyone can
// run against one. Everything is seen from outside, through the methods of
// [spi.Backend] and [spi.Isolate]: an engine in this process, a container and a
// micro-VM are judged alike.
//
// A [Check] has an ID that never changes its meaning, a [Level], the rule in a
// sentence and what a descriptor must declare for it to apply. [Run] runs them
// all and gives a [Report], which is JSON, a table for people
// ([Report.WriteTable]) or JUnit XML ([Report.WriteJUnit]); [Runner] runs them
// one by one. In a Go test, use package spitest.
//
// # Levels
//
// What a MUST says holds for every backend that declares what the check needs:
// it can be neither left out nor declared known. A SHOULD that does not hold may
// be declared known, with a reason; one that holds after all, or that does not
// apply, is then a failure, so that the list stays true.
//
// # Security
//
// A passing report is evidence, not proof: it shows that the known ways out are
// shut. The level of isolation that a descriptor claims cannot be seen from
// outside and is not judged, nor is what a backend does beside its methods.
//
// # Concurrency
//
// Checks run one after the other, since some of them watch the time; a check may
// use several goroutines and isolates. A backend that hangs fails the check, is
// abandoned (its goroutine stays behind) and replaced by a new one.
package conformance
