// Package saboteur breaks a good backend in one place, so that it can be seen
// that the conformance suite notices. A suite that passes everything proves
// nothing; each [Defect] names the checks that must fail on it.
//
// To add a defect, append it to the table of its group and name the checks that
// are meant for it. It should be what an honest author could get wrong, with all
// else left whole: a backend that loses the logs still counts what it kept.
//
// # Security
//
// Defects of the group "host" hand the environment or a file to the script. The
// package is for tests and nothing that ships may import it.
//
// # Concurrency
//
// A [Backend] may be used as the good one may. What hangs stays until
// [Backend.Release].
package saboteur
