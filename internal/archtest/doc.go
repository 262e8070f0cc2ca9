// Package archtest holds the shape of the house as data, and checks a source
// tree against it: which package may import which, and the rules that every file
// keeps.
//
// It reads files and parses them in this process, whatever their build
// constraints. A check that asks another program for the imports would pass on
// cached test results after a change that it never saw.
//
// What an identifier means is resolved within a package; imports are not
// followed. So the rules cannot see a change that goes through a copied slice,
// map or pointer, and what an import brings along is a matter of its own rows.
//
// To add a package, add its row to [House]; to let a package import more, widen
// its row. Both are decisions that a review should see.
package archtest
