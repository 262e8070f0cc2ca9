// Package taint is the label of untrusted data: a JSON wrapper that says where
// a value came from, a scan that finds such wrappers, and the one strict JSON
// decoder to use wherever untrusted text enters.
//
// The label has exactly one JSON form:
//
//	{"__loomTainted":{"origin":"sandbox"},"value":<any JSON>}
//
// [Wrap] puts the label on. There are two ways to take it off: [Unwrap] for one
// value, [Strip] for all labels in a document, whose origins it returns. [Scan]
// says whether a serialised document carries a label anywhere. The value inside
// is opaque: a value that looks like a wrapper is data and stays nested inside the
// wrapper put around it, so whoever wrote the value cannot take the label off.
//
// What was made of several labelled values has one label with all their origins:
// see [Join].
//
// [Wrap] brings the value into wire form: no white space between tokens, and
// <, >, & and the two Unicode line separators written as \u escapes inside
// strings. That is the form [encoding/json.Marshal] gives to embedded JSON, so a
// wrapper inside a larger document keeps its value byte for byte. (The json/v2
// package keeps the meaning, and the bytes with [jsontext.PreserveRawStrings].)
// Numbers are never parsed: 1.0 stays 1.0 and 12345678901234567890 keeps all its
// digits.
//
// # Security
//
// A label informs; it does not confine. In particular:
//
//   - A label is not a signature. Anyone who can write JSON can write one, with
//     any origin. A label added by somebody else must never be a reason to skip
//     [Wrap]. The absence of a label proves nothing about data that did not pass
//     through Wrap.
//   - Go code can read [Tainted.Value] without calling Unwrap. The field is
//     exported for marshalling code; reviews search for taint.Unwrap, and a
//     direct read outside marshalling is a defect. Reviews ask of taint.Strip
//     where its origins go.
//   - A label does not follow data. Text copied out of a value, a summary of it,
//     or a decision made because of it is not labelled.
//   - Scan looks at JSON structure only. JSON text inside a string, base64 or
//     compressed data is a plain string to it.
//   - Nothing here makes a value harmless. Markup, shell text, SQL and
//     instructions addressed to a language model remain what they are. The
//     escapes in wire form vanish as soon as a reader decodes the string.
//   - Origins and JSON pointers in reports and errors contain text chosen by
//     whoever wrote the document. Their length is bounded in reports and error
//     texts, their meaning is not.
//
// Every doubt counts as tainted: text that is not strict JSON, a scan that ran
// into its bounds, a wrapper that is not well formed, an origin that is not
// allowed.
//
// # Concurrency
//
// All functions may be called concurrently and keep no state. A [Tainted] is a
// plain value: concurrent reads are safe, a write needs a lock. Functions that
// take bytes only read them, and the caller must not write to them during the
// call.
//
// # Errors
//
// Whatever is wrong with JSON text is reported as a [*DecodeError]: one line,
// the place as a JSON pointer, and one of the sentinel errors of this package
// for errors.Is. An error text never contains the offending value. Nothing
// panics because of its input.
//
// # Limits
//
// Scan visits at most [MaxScanNodes] values, [MaxScanDepth] levels deep, without
// recursion, and its [Report] holds at most [MaxReportOrigins] origins and
// [MaxReportPaths] paths of [MaxPathBytes] bytes. Strip returns at most
// [MaxStripOrigins] origins and one more. Strict decoding stops at
// [MaxDepth] levels; Wrap keeps values of up to [MaxValueDepth] levels as they
// are. The length of a document is not limited here: bound what is read before
// it gets here. Every function takes time and memory linear in the length of its
// input.
package taint

const (
	// MarkerKey is the name of the member that makes an object a wrapper.
	MarkerKey = "__loomTainted"

	valueKey  = "value"
	originKey = "origin"
)

// Origins with a meaning to this package. Those that start with "unknown:" say
// that the real origin could not be established.
const (
	// OriginSandbox labels what came out of sandboxed code.
	OriginSandbox = "sandbox"

	// OriginInvalid replaces an origin that [CheckOrigin] refuses.
	OriginInvalid = "unknown:invalid-origin"

	// OriginMalformedWrapper is reported for an object that has the marker key
	// but is not a well-formed wrapper.
	OriginMalformedWrapper = "unknown:malformed-wrapper"

	// OriginBoundExceeded is reported when a scan stopped at its bounds, or when
	// there are more origins than can be reported.
	OriginBoundExceeded = "unknown:taint-scan-bound-exceeded"

	// OriginInvalidJSON is reported for text that is not strict JSON.
	OriginInvalidJSON = "unknown:taint-scan-invalid-json"
)

const (
	// MaxOriginLength is the length that an origin may have which is not joined, in
	// characters (Unicode code points).
	MaxOriginLength = 200

	// MaxJoinedOrigins is how many origins a joined one names: see [Join].
	MaxJoinedOrigins = 8

	// MaxJoinedLength is the length of the longest joined origin, in characters:
	// the names, a separator behind each, and "+999999999 more".
	MaxJoinedLength = MaxJoinedOrigins*(MaxOriginLength+len(separator)) +
		len(countPrefix) + maxCountDigits + len(countSuffix)

	// MaxDepth is how many objects and arrays strict JSON may nest.
	MaxDepth = 10_000

	// MaxValueDepth is how many objects and arrays a wrapped value may nest.
	// It is below [MaxDepth] so that a wrapper can still be embedded in a
	// document: nobody gets to make the result around the value unwritable.
	MaxValueDepth = 9_900

	// MaxScanDepth is how many open objects and arrays [Scan] follows.
	MaxScanDepth = 64

	// MaxScanNodes is how many values (objects, arrays, strings, numbers and
	// literals; member names do not count) [Scan] visits.
	MaxScanNodes = 100_000

	// MaxReportOrigins is how many distinct origins a [Report] holds.
	MaxReportOrigins = 32

	// MaxReportPaths is how many paths a [Report] holds.
	MaxReportPaths = 64

	// MaxStripOrigins is how many distinct origins [Strip] returns before it says
	// [OriginBoundExceeded].
	MaxStripOrigins = 4096

	// MaxPathBytes is the length of the longest path a [Report] holds, in bytes.
	MaxPathBytes = 512
)
