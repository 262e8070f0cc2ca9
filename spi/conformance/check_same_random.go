package conformance

import (
	"context"
	"fmt"

	"github.com/loom-sandbox/sandboxd/spi"
)

// randomChecks hold for a backend that promises nothing else of the same eval.
func randomChecks() []Check {
	return []Check{
		{ID: "SAME-010", Level: SHOULD, Rule: "Isolates with other seeds have other random numbers, whether or not an image is declared.", body: otherSeedsAnywhere},
		{ID: "SAME-011", Level: SHOULD, Rule: "Isolates with the same seed have the same random numbers, whatever another one draws in between.", body: ownRandom},
	}
}

const drawSource = "[Math.random(), Math.random(), Math.random()].join()"

func otherSeedsAnywhere(ctx context.Context, s *subject) error {
	drawn := map[string]uint64{}
	for _, seed := range []uint64{1, 2, 3, 1 << 40, 1<<64 - 1} {
		out, err := s.eval(ctx, drawSource, "", withSeed(seed))
		if err == nil && out.Error != nil {
			err = fmt.Errorf("%s ended with %s", drawSource, out.Error.Kind)
		}
		if err != nil {
			return err
		}
		got := string(out.Value)
		if before, ok := drawn[got]; ok {
			return fmt.Errorf("the random numbers are %s with the seeds %d and %d", clip(got), before, seed)
		}
		drawn[got] = seed
	}
	return nil
}

func ownRandom(ctx context.Context, s *subject) error {
	var isolates [3]spi.Isolate
	for i := range isolates {
		var err error
		if isolates[i], err = s.isolate(ctx); err != nil {
			return err
		}
	}
	var drawn [3][]string
	for round := range 3 {
		for i, iso := range isolates {
			if i == 2 && round < 2 { // it draws when the others have done so
				continue
			}
			out, err := s.evalIn(ctx, iso, drawSource, "")
			if err == nil && out.Error != nil {
				err = fmt.Errorf("%s ended with %s", drawSource, out.Error.Kind)
			}
			if err != nil {
				return err
			}
			drawn[i] = append(drawn[i], string(out.Value))
		}
	}
	for round, want := range drawn[0] {
		if got := drawn[1][round]; got != want {
			return fmt.Errorf("the next random numbers of two isolates are %s and %s", clip(want), clip(got))
		}
	}
	if drawn[2][0] != drawn[0][0] {
		return fmt.Errorf("the first random numbers of two isolates are %s and %s", clip(drawn[0][0]), clip(drawn[2][0]))
	}
	return nil
}
