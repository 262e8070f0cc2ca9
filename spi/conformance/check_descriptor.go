package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

func descriptorChecks() []Check {
	return []Check{
		{ID: "DESC-001", Level: MUST, Rule: "The name is lower-case letters, digits and '-'.", body: described(descName)},
		{ID: "DESC-002", Level: MUST, Rule: "The summary is one line of text.", body: described(func(d *spi.Descriptor) error {
			return oneLine("summary", d.Summary)
		})},
		{ID: "DESC-003", Level: MUST, Rule: "The isolation is one of the documented levels.", body: described(descIsolation)},
		{ID: "DESC-004", Level: MUST, Rule: "The languages are named once each, and JavaScript is one of them.", body: described(descLanguages)},
		{ID: "DESC-005", Level: MUST, Rule: "The limits that hold are named once each, with names of the contract.", body: described(descLimitNames)},
		{ID: "DESC-006", Level: MUST, Rule: "A limit is either exact or has a granularity, which is not negative.", body: described(descGranularity)},
		{ID: "DESC-007", Level: MUST, Rule: "The time, the memory, the result and the logs of an eval are limited.", body: described(descEnforced)},
		{ID: "DESC-008", Level: MUST, Rule: "The smallest memory is positive and not above the largest.", body: described(descMemory)},
		{ID: "DESC-009", Level: MUST, Rule: "The image is a SHA-256 in lower-case hex after \"sha256:\", or empty.", body: described(descImage)},
		{ID: "DESC-010", Level: MUST, Rule: "The engine is named in one line of text.", body: described(func(d *spi.Descriptor) error {
			return oneLine("engine", d.Engine)
		})},
		{ID: "DESC-011", Level: MUST, Rule: "The descriptor is the same before, during and after an eval.", body: descConstant},
		{ID: "DESC-012", Level: MUST, Rule: "What a caller does to a descriptor does not show in the next one.", body: descCopied},
		{ID: "DESC-013", Level: MUST, Rule: "Describe may be called from many goroutines at once.", body: descConcurrent},
		{ID: "DESC-014", Level: MUST, Rule: "Describe gives the same answer once the backend is closed.", own: true, body: descAfterClose},
		{ID: "DESC-015", Level: MUST, Rule: "Every language that the descriptor lists is accepted by Eval.", body: descLanguagesRun},
	}
}

// described is a body that looks at the descriptor only.
func described(look func(*spi.Descriptor) error) body {
	return func(_ context.Context, s *subject) error {
		d := s.backend.Describe()
		return look(&d)
	}
}

func descName(d *spi.Descriptor) error {
	if !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(d.Name) {
		return fmt.Errorf("name is %q", clip(d.Name))
	}
	return nil
}

func oneLine(what, text string) error {
	odd := func(c rune) bool { return !strconv.IsPrint(c) || c == '\uFFFD' }
	switch {
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("%s is empty", what)
	case strings.ContainsFunc(text, odd):
		return fmt.Errorf("%s has characters that are not for a line: %q", what, clip(text))
	}
	return nil
}

func descIsolation(d *spi.Descriptor) error {
	levels := []spi.Isolation{spi.IsolationNone, spi.IsolationWASM, spi.IsolationProcess, spi.IsolationMachine}
	if !slices.Contains(levels, d.Isolation) {
		return fmt.Errorf("isolation is %q; allowed is one of %q", d.Isolation, levels)
	}
	return nil
}

func descLanguages(d *spi.Descriptor) error {
	seen := map[spi.Language]bool{}
	for _, l := range d.Languages {
		if l == "" || seen[l] {
			return fmt.Errorf("language %q is empty or named twice: %q", l, d.Languages)
		}
		seen[l] = true
	}
	if !d.Speaks(spi.JavaScript) {
		return fmt.Errorf("%q is not among the languages: %q", spi.JavaScript, d.Languages)
	}
	return nil
}

func descLimitNames(d *spi.Descriptor) error {
	names := []spi.LimitName{
		spi.LimitTimeout, spi.LimitMemory, spi.LimitFuel, spi.LimitStack, spi.LimitCallDepth,
		spi.LimitSource, spi.LimitInput, spi.LimitOutput, spi.LimitLogs, spi.LimitHostCalls, spi.LimitCallBytes,
	}
	seen := map[spi.LimitName]bool{}
	for _, e := range d.Enforces {
		switch {
		case !slices.Contains(names, e.Limit):
			return fmt.Errorf("limit %q is unknown; allowed is one of %q", e.Limit, names)
		case seen[e.Limit]:
			return fmt.Errorf("limit %s is named twice", e.Limit)
		}
		seen[e.Limit] = true
	}
	return nil
}

func descGranularity(d *spi.Descriptor) error {
	for _, e := range d.Enforces {
		if e.Granularity < 0 || e.Exact && e.Granularity != 0 {
			return fmt.Errorf("limit %s has the granularity %d, exact: %v", e.Limit, e.Granularity, e.Exact)
		}
	}
	return nil
}

func descEnforced(d *spi.Descriptor) error {
	// A configuration always carries these.
	for _, name := range []spi.LimitName{spi.LimitTimeout, spi.LimitMemory, spi.LimitOutput, spi.LimitLogs} {
		if _, ok := d.EnforcementOf(name); !ok {
			return fmt.Errorf("%s is not enforced", name)
		}
	}
	return nil
}

func descMemory(d *spi.Descriptor) error {
	if d.MinMemoryBytes <= 0 || d.MinMemoryBytes > d.MaxMemoryBytes {
		return fmt.Errorf("memory is from %d to %d bytes", d.MinMemoryBytes, d.MaxMemoryBytes)
	}
	return nil
}

func descImage(d *spi.Descriptor) error {
	if !regexp.MustCompile(`^(sha256:[0-9a-f]{64})?$`).MatchString(d.Image) {
		return fmt.Errorf("image is %q", clip(d.Image))
	}
	return nil
}

// sameDescriptor compares what callers can see: an empty list is a missing one.
func sameDescriptor(a, b spi.Descriptor) error {
	same := slices.Equal(a.Languages, b.Languages) && slices.Equal(a.Enforces, b.Enforces)
	restA, restB := a, b
	restA.Languages, restA.Enforces, restB.Languages, restB.Enforces = nil, nil, nil, nil
	if !same || !reflect.DeepEqual(restA, restB) {
		return fmt.Errorf("descriptor was %+v and is %+v", a, b)
	}
	return nil
}

func descConstant(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	if err := sameDescriptor(s.descriptor, s.backend.Describe()); err != nil {
		return fmt.Errorf("with an isolate: %w", err)
	}
	during := background(func() (none, error) {
		return none{}, sameDescriptor(s.descriptor, s.backend.Describe())
	})
	_, err = s.evalIn(ctx, iso, "let n = 0; for (let i = 0; i < 1e5; i++) n += i; n", "")
	if err := errors.Join(err, (<-during).err); err != nil {
		return fmt.Errorf("during an eval: %w", err)
	}
	if _, err := s.eval(ctx, "throw new Error('x')", ""); err != nil {
		return err
	}
	if err := sameDescriptor(s.descriptor, s.backend.Describe()); err != nil {
		return fmt.Errorf("after two evals: %w", err)
	}
	return nil
}

func descCopied(_ context.Context, s *subject) error {
	d := s.backend.Describe()
	before := d
	before.Languages, before.Enforces = slices.Clone(d.Languages), slices.Clone(d.Enforces)
	clear(d.Languages)
	clear(d.Enforces)
	err := sameDescriptor(before, s.backend.Describe())
	// A backend that shares them is used by other checks.
	copy(d.Languages, before.Languages)
	copy(d.Enforces, before.Enforces)
	return err
}

func descConcurrent(_ context.Context, s *subject) error {
	const callers, calls = 8, 50
	return together(callers, func(int) error {
		for range calls {
			if err := sameDescriptor(s.descriptor, s.backend.Describe()); err != nil {
				return err
			}
		}
		return nil
	})
}

func descAfterClose(_ context.Context, s *subject) error {
	before := s.backend.Describe()
	if err := s.backend.Close(); err != nil {
		return fmt.Errorf("closing the backend: %w", err)
	}
	return sameDescriptor(before, s.backend.Describe())
}

// descLanguagesRun does not know all languages: any text must be looked at, and
// what becomes of it is not judged.
func descLanguagesRun(ctx context.Context, s *subject) error {
	for _, language := range s.descriptor.Languages {
		iso, err := s.isolate(ctx)
		if err != nil {
			return err
		}
		_, err = iso.Eval(ctx, &spi.Request{Source: "1", Language: language, Input: json.RawMessage("null")})
		if errors.Is(err, spi.ErrUnsupported) {
			return fmt.Errorf("language %q is listed and refused: %w", language, err)
		}
	}
	return nil
}
