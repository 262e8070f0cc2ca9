package quickjs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHintsFitTheLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"interface A { b: string }":             "TypeScript",
		"const x: number = 5;":                  "TypeScript",
		"function f(a: string) {":               "TypeScript",
		"const f = (a, b): Promise<void> => {":  "TypeScript",
		"let v = (q as any).b":                  "TypeScript",
		"const o = { a: 1 } as const;":          "TypeScript",
		"enum X { A }":                          "TypeScript",
		"type Q = { a: 1 }":                     "TypeScript",
		"export interface Q {":                  "TypeScript",
		"const x = <T>(a) => a;":                "TypeScript",
		"  private readonly name = 'x';":        "TypeScript",
		"return map.get(key)!.value;":           "TypeScript",
		"function f(a?: Foo) {":                 "TypeScript",
		"import fs from 'fs'":                   "modules",
		"import { a } from \"x\"":               "modules",
		"import * as fs from 'node:fs';":        "modules",
		"export default 5":                      "modules",
		"export const a = 1":                    "modules",
		"let b = = 2":                           "",
		"foo(;":                                 "",
		"const o = { a: 1, b: 2 ":               "",
		"x ? y : ":                              "",
		"if (a != b {":                          "",
		strings.Repeat(" ", 5000) + "enum X {}": "",
	} {
		got := hint("1\n"+line+"\n2", 2)
		if want == "" {
			assert.Empty(t, got, line)
		} else {
			assert.Contains(t, got, want, line)
		}
	}
	assert.Empty(t, hint("enum X {}", 0))
	assert.Empty(t, hint("enum X {}", 7))
}
