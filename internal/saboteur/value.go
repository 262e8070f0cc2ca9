package saboteur

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// valueDefects break the result of a script that succeeds.
func valueDefects() []Defect {
	return []Defect{
		{
			Name: "value-not-json", Wrong: "A number without a JSON form is written as JavaScript writes it.",
			CaughtBy: []string{"VALUE-004"}, Seen: "not JSON",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.ValueType == spi.TypeNumber && string(out.Value) == "null" {
					setValue(out, "NaN", spi.TypeNumber)
				}
			}),
		},
		{
			Name: "value-surrogate", Wrong: "Half a surrogate pair in the result is written as three bytes that are no UTF-8.",
			CaughtBy: []string{"VALUE-022"}, Seen: "UTF-8",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if bytes.Contains(out.Value, []byte("\ufffd")) {
					setValue(out, strings.ReplaceAll(string(out.Value), "\ufffd", "\xed\xa0\x80"), out.ValueType)
				}
			}),
		},
		{
			Name: "type-always-object", Wrong: "Every result has the type object.",
			CaughtBy: []string{"VALUE-001"}, Seen: "has the type",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.Error == nil {
					out.ValueType = spi.TypeObject
				}
			}),
		},
		{
			Name: "type-undefined-as-null", Wrong: "undefined has the type null.",
			CaughtBy: []string{"VALUE-002"}, Seen: "has the type",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.ValueType == spi.TypeUndefined {
					out.ValueType = spi.TypeNull
				}
			}),
		},
		{
			Name: "type-missing", Wrong: "undefined has no type.",
			CaughtBy: []string{"VALUE-002"}, Seen: "not one of the value types",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.ValueType == spi.TypeUndefined {
					out.ValueType = ""
				}
			}),
		},
		{
			Name: "type-of-arrays", Wrong: "An array has the type object, as typeof says.",
			CaughtBy: []string{"VALUE-001"}, Seen: "has the type",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.ValueType == spi.TypeArray {
					out.ValueType = spi.TypeObject
				}
			}),
		},
		{
			Name: "numbers-rounded", Wrong: "Numbers of the result lose digits.",
			CaughtBy: []string{"VALUE-006"}, Seen: "value is",
			build: func() hooks {
				digits := regexp.MustCompile(`(\d\.\d{5})\d+`)
				return hooks{outcome: func(_ *isolate, out *spi.Outcome) {
					if out.Error == nil {
						setValue(out, digits.ReplaceAllString(string(out.Value), "$1"), out.ValueType)
					}
				}}
			},
		},
		{
			Name: "cuts-value-at-nul", Wrong: "A string of the result ends at its first NUL.",
			CaughtBy: []string{"VALUE-020"}, Seen: "value is",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.Error == nil {
					setValue(out, cutStrings(string(out.Value)), out.ValueType)
				}
			}),
		},
		{
			Name: "normalises-value", Wrong: "The result's letters and accents are put together.",
			CaughtBy: []string{"VALUE-039"}, Seen: "twice in an object",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.Error == nil {
					setValue(out, compose(string(out.Value)), out.ValueType)
				}
			}),
		},
		{
			Name: "unserializable-as-null", Wrong: "A result that JSON cannot hold is reported as null.",
			CaughtBy: []string{"VALUE-008", "VALUE-009"}, Seen: "ended with the value null",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if out.Error != nil && out.Error.Kind == spi.KindUnserializable {
					setValue(out, "null", spi.TypeObject)
				}
			}),
		},
		{
			Name: "value-shallow", Wrong: "A deep result is reported as null.",
			CaughtBy: []string{"VALUE-025"}, Seen: "value is null",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				if bytes.HasPrefix(out.Value, bytes.Repeat([]byte("["), 100)) || bytes.Count(out.Value, []byte(`{`)) > 100 {
					setValue(out, "null", out.ValueType)
				}
			}),
		},
		{
			Name: "sorts-names", Wrong: "The names of an object come back sorted.",
			CaughtBy: []string{"VALUE-024"}, Seen: "value is",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				var value any
				d := json.NewDecoder(bytes.NewReader(out.Value))
				d.UseNumber()
				if d.Decode(&value) != nil {
					return
				}
				var text strings.Builder
				e := json.NewEncoder(&text)
				e.SetEscapeHTML(false)
				if e.Encode(value) == nil {
					setValue(out, strings.TrimSuffix(text.String(), "\n"), out.ValueType)
				}
			}),
		},
		{
			Name: "unwraps-envelopes", Wrong: "A result that looks like an envelope of the host is unwrapped.",
			CaughtBy: []string{"VALUE-027"}, Seen: "value is",
			build: outcome(func(_ *isolate, out *spi.Outcome) {
				var envelope map[string]json.RawMessage
				if json.Unmarshal(out.Value, &envelope) == nil && envelope["value"] != nil {
					setValue(out, string(envelope["value"]), out.ValueType)
				}
			}),
		},
	}
}
