package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxConfigBytes bounds the configuration file.
const maxConfigBytes = 1 << 20

// load reads the file, if one is named, and refuses keys that no flag has.
func (s *settings) load(ctx context.Context, path string, app *kong.Application) error {
	if path == "" {
		given := false
		if path, given = s.env[envName("config")]; !given {
			return nil
		}
		s.origins["config"] = envName("config")
		if path == "" {
			return usagef("--config: is empty; allowed is FILE")
		}
	}
	s.path = path
	name := "--config " + shortenPath(path)
	data, err := readAtMost(ctx, nil, path, maxConfigBytes)
	if err != nil {
		return unread(name, err)
	}
	if len(data) > maxConfigBytes {
		return usagef("%s: larger than %d bytes", name, maxConfigBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var raw map[string]map[string]any
	if err := decodeYAML(data, &raw); err != nil {
		return usagef("%s: %s; allowed is a section per command with flags as keys", name, yamlProblem(err))
	}
	s.file = map[string]map[string]string{}
	for _, section := range slices.Sorted(maps.Keys(raw)) {
		if s.file[section], err = sectionOf(app, section, raw[section]); err != nil {
			return usagef("%s: %v", name, err)
		}
	}
	return nil
}

// sectionOf checks and writes out one section. Keys come in order, so that the
// same file gets the same answer.
func sectionOf(app *kong.Application, section string, keys map[string]any) (map[string]string, error) {
	flags, err := known(app, section)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		switch {
		case slices.Contains(flags, key):
		case len(flags) == 0:
			return nil, fmt.Errorf("unknown key %s.%s; %s has no keys", section, shorten(key), section)
		default:
			return nil, fmt.Errorf("unknown key %s.%s; known are %s", section, shorten(key), strings.Join(flags, ", "))
		}
		if values[key], err = scalar(keys[key]); err != nil {
			return nil, fmt.Errorf("%s.%s %v", section, key, err)
		}
	}
	return values, nil
}

// decodeYAML decodes the only document of a file. The decoder passes over tags
// that it does not know and over further documents.
func decodeYAML(data []byte, v any) error {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return err
	}
	if len(file.Docs) > 1 {
		return errors.New("more than one YAML document; allowed is one")
	}
	for _, doc := range file.Docs {
		var tags unknownTags
		if doc.Body != nil {
			ast.Walk(&tags, doc.Body)
		}
		if tags.first != "" {
			return fmt.Errorf("unknown tag %s", shorten(tags.first))
		}
	}
	err = yaml.UnmarshalWithOptions(data, v, yaml.Strict())
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// unknownTags finds the first tag that is not of YAML itself.
type unknownTags struct{ first string }

// Visit implements ast.Visitor.
func (u *unknownTags) Visit(n ast.Node) ast.Visitor {
	if tag, ok := n.(*ast.TagNode); ok && u.first == "" {
		switch name := tag.Start.Value; name {
		case "!!str", "!!int", "!!bool", "!!seq", "!!map":
		default:
			u.first = name
		}
	}
	return u
}

// yamlProblem is the first line of a YAML error: "[4:5] mapping key …".
func yamlProblem(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// known lists the flags that a section of the file may set.
func known(app *kong.Application, section string) ([]string, error) {
	var sections []string
	for _, command := range app.Children {
		var flags []string
		for _, f := range command.Flags {
			if !local(f) {
				flags = append(flags, f.Name)
			}
		}
		if command.Name == section {
			return flags, nil
		}
		sections = append(sections, command.Name)
	}
	return nil, fmt.Errorf("unknown key %s; known are %s", shorten(section), strings.Join(sections, ", "))
}

// scalar writes a YAML value as the flag's text.
func scalar(v any) (string, error) {
	switch v := v.(type) {
	case string, bool, int, int64, uint64:
		return fmt.Sprint(v), nil
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			s, ok := e.(string)
			if !ok {
				return "", errors.New("must be a list of strings")
			}
			parts[i] = s
		}
		return strings.Join(parts, ","), nil
	default:
		return "", errors.New("must be a string, a whole number, true, false or a list of strings")
	}
}
