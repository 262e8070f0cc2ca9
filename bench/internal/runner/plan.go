// Package runner measures subjects row by row, in turns: on a noisy machine two
// subjects are only comparable when they suffered the same noise.
package runner

import "time"

// Plan says how long to measure.
type Plan struct {
	// Rounds in which the subjects of a row take turns.
	Rounds int
	// Budget is the time of all rounds for one subject in one row, as long as one
	// eval is short enough to fit into a round.
	Budget time.Duration
	// Slow bounds the time of one subject in one row where evals are long: no
	// further round begins after it, and where already the check of the answer
	// took longer, that eval is the only sample.
	Slow time.Duration
	// FlowBudget is the same for a row with several callers.
	FlowBudget time.Duration
	// Starts is the number of processes that are started for each subject.
	Starts int
	// MemoryRounds and Instances are how often memory is measured, with how many.
	MemoryRounds, Instances int
}

// Full is the plan of the table: about six minutes on two cores.
func Full() Plan {
	return Plan{
		Rounds: 8, Budget: 640 * time.Millisecond, Slow: 3 * time.Second, FlowBudget: 400 * time.Millisecond,
		Starts: 10, MemoryRounds: 2, Instances: 100,
	}
}

// Quick is a plan for under a minute; its figures are rough.
func Quick() Plan {
	return Plan{
		Rounds: 2, Budget: 60 * time.Millisecond, Slow: 100 * time.Millisecond, FlowBudget: 30 * time.Millisecond,
		Starts: 2, MemoryRounds: 1, Instances: 100,
	}
}

// mostSamples bounds what one subject gives in one round.
const mostSamples = 2000

// samples is how many evals of that length fit into one round.
func (p Plan) samples(one time.Duration) int {
	share := p.Budget / time.Duration(p.Rounds)
	return int(min(max(share/max(one, time.Microsecond), 1), mostSamples))
}
