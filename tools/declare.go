package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Declarations describes the set in TypeScript, to put before a model: the types
// of the tools, of the errors that they throw, and of fetch where it is granted.
// It is the same for the same tools, whatever their order.
//
// What the types allow, the sandbox accepts, but for what TypeScript cannot say:
// bounds, formats and patterns, which are in comments; `not`, `if`, dependencies
// and patterns of names, which are left out; `oneOf`, of which more than one may
// fit. A schema without a type that describes members or items is taken for an
// object or an array. What is too deep or too large, or follows a dynamic
// reference, is unknown.
func (s *Set) Declarations() string {
	if s.Empty() {
		return ""
	}
	root, names := &branch{}, &aliases{taken: map[string]bool{}}
	var blocks []string
	for _, name := range s.names {
		g := s.tools[name]
		if g.kind == kindFetch {
			continue
		}
		d := newDeclarer(g, names)
		root.add(strings.Split(name, "."), d)
	}
	if len(root.children) > 0 {
		var b strings.Builder
		root.write(&b, "")
		blocks = append(names.blocks, "declare const tools: "+b.String()+";")
	}
	blocks = append(blocks, declaredErrors)
	if s.tools[fetchName] != nil {
		blocks = append(blocks, declaredFetch)
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

// branch is an object of the global tools, or a tool.
type branch struct {
	name     string
	children []*branch
	tool     *declarer // nil where it is an object
}

func (b *branch) add(path []string, d *declarer) {
	if len(path) == 0 {
		b.tool = d
		return
	}
	i := slices.IndexFunc(b.children, func(c *branch) bool { return c.name == path[0] })
	if i < 0 {
		i = len(b.children)
		b.children = append(b.children, &branch{name: path[0]})
	}
	b.children[i].add(path[1:], d)
}

// write writes the type of an object, from its brace on.
func (b *branch) write(out *strings.Builder, indent string) {
	slices.SortFunc(b.children, func(x, y *branch) int { return cmp.Compare(x.name, y.name) })
	out.WriteString("{\n")
	inner := indent + step
	for _, c := range b.children {
		if c.tool == nil {
			fmt.Fprintf(out, "%s%s: ", inner, c.name)
			c.write(out, inner)
			out.WriteString(";\n")
			continue
		}
		out.WriteString(c.tool.method(c.name, inner))
	}
	out.WriteString(indent + "}")
}

const step = "  "

// aliases are the named types of a set's declarations.
type aliases struct {
	taken  map[string]bool
	blocks []string
}

// name makes a name that nothing else has.
func (a *aliases) name(want string) string {
	name := want
	for i := 2; a.taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", want, i)
	}
	a.taken[name] = true
	return name
}

// method is the declaration of the tool as a method.
func (d *declarer) method(name, indent string) string {
	text := d.tool.Description
	if d.tool.Idempotent {
		text += "\n\nIdempotent: calling it again does nothing more."
	}
	args := "{ [key: string]: unknown }"
	if d.tool.input != nil {
		d.side = "Input"
		if t := d.typeOf(d.tool.input.compiled, place{indent: indent, object: true}); t.text != textUnknown {
			args = t.text
		}
	}
	optional := ""
	if d.tool.input.check(map[string]any{}, load{}) == nil {
		optional = "?"
	}
	result := textUnknown
	if d.tool.output != nil {
		d.side = "Output"
		result = d.typeOf(d.tool.output.compiled, place{indent: indent}).text
	}
	if name == "new" { // bare, it would be what a constructor takes
		name = quote(name)
	}
	return fmt.Sprintf("%s%s%s(args%s: %s): Promise<%s>;\n", comment(text, indent), indent, name, optional, args, result)
}

// declaredErrors are the classes of what a call throws.
const declaredErrors = `/** A call was refused. */
declare class DeniedError extends Error {
  /** The name of what was called. */
  readonly function: string;
}

/** A call failed. */
declare class ToolError extends Error {
  /** The name of what was called. */
  readonly function: string;
}`

// declaredFetch is what scripts find where [Fetch] is granted.
const declaredFetch = `declare class Headers {
  constructor(init?: Headers | [string, string][] | { [name: string]: string });
  get(name: string): string | null;
  has(name: string): boolean;
  set(name: string, value: string): void;
  append(name: string, value: string): void;
  delete(name: string): void;
  forEach(callback: (value: string, name: string) => void): void;
}

declare class Response {
  readonly ok: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly redirected: boolean;
  readonly headers: Headers;
  text(): Promise<string>;
  json(): Promise<any>;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** Requests what the host allows; anything else throws a DeniedError. */
declare function fetch(
  url: string,
  init?: {
    method?: string;
    headers?: Headers | [string, string][] | { [name: string]: string };
    body?: string | ArrayBuffer | Uint8Array;
    redirect?: "follow" | "error" | "manual";
  },
): Promise<Response>;`
