package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
)

// maxConfigBytes bounds the configuration file.
const maxConfigBytes = 1 << 20

// settings fills in flags that were not given: from the environment, then from
// the configuration file. It implements kong.Resolver.
//
// Unknown variables are not refused: a service called sandboxd in a Kubernetes
// cluster puts SANDBOXD_PORT and its kin into every environment.
type settings struct {
	env     map[string]string
	path    string
	file    map[string]map[string]string // by command, then by flag
	origins map[string]string            // flag to what set it, for messages
}

func newSettings(env []string) *settings {
	s := &settings{env: map[string]string{}, origins: map[string]string{}}
	for _, e := range env {
		if name, value, ok := strings.Cut(e, "="); ok && strings.HasPrefix(name, "SANDBOXD_") {
			s.env[name] = value
		}
	}
	return s
}

func envName(flag string) string {
	return "SANDBOXD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func local(f *kong.Flag) bool { return f.Tag.Has("local") || f.Name == "help" }

// load reads the file, if one is named, and refuses keys that no flag has.
func (s *settings) load(path string, app *kong.Application) error {
	if path == "" {
		path = s.env[envName("config")]
	}
	if path == "" {
		return nil
	}
	s.path = path
	data, err := readAtMost(nil, path, maxConfigBytes)
	if err != nil {
		return usagef("--config %s: %v", path, err)
	}
	if len(data) > maxConfigBytes {
		return usagef("--config %s: larger than %d bytes", path, maxConfigBytes)
	}
	var raw map[string]map[string]any
	if err := yaml.UnmarshalWithOptions(data, &raw, yaml.Strict()); err != nil && !errors.Is(err, io.EOF) {
		return usagef("--config %s: %s; allowed is a section per command with flags as keys", path, yamlProblem(err))
	}
	s.file = map[string]map[string]string{}
	for section, keys := range raw {
		flags, err := known(app, section)
		if err != nil {
			return usagef("--config %s: %v", path, err)
		}
		values := map[string]string{}
		for key, value := range keys {
			if !slices.Contains(flags, key) {
				return usagef("--config %s: unknown key %s.%s; known are %s", path, section, shorten(key), strings.Join(flags, ", "))
			}
			v, err := scalar(value)
			if err != nil {
				return usagef("--config %s: %s.%s %v", path, section, key, err)
			}
			values[key] = v
		}
		s.file[section] = values
	}
	return nil
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

// Resolve implements kong.Resolver.
func (s *settings) Resolve(_ *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	if local(flag) {
		return nil, nil
	}
	if v, ok := s.env[envName(flag.Name)]; ok {
		s.origins[flag.Name] = envName(flag.Name)
		return v, nil
	}
	if parent.Command == nil {
		return nil, nil
	}
	if v, ok := s.file[parent.Command.Name][flag.Name]; ok {
		s.origins[flag.Name] = s.path
		return v, nil
	}
	return nil, nil
}

// Validate implements kong.Resolver; load has checked already.
func (s *settings) Validate(*kong.Application) error { return nil }

// readAtMost reads the named file, or stdin for "-", and stops one byte after
// most: a longer answer tells the caller that there is too much. Its errors name
// the reason only; the caller names the file.
func readAtMost(stdin io.Reader, path string, most int64) ([]byte, error) {
	r := stdin
	if path != "-" || stdin == nil {
		f, err := os.Open(path)
		if err != nil {
			return nil, reason(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, reason(err)
		}
		if info.IsDir() {
			return nil, errors.New("is a directory; allowed is a file")
		}
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, reason(err)
	}
	return data, nil
}

func reason(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("may not be read (permission denied)")
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
