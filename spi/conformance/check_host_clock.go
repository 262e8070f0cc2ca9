package conformance

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// clockChecks: the guest's clock is the configuration's and not the machine's.
func clockChecks() []Check {
	return []Check{
		{ID: "HOST-021", Level: MUST, Rule: "The clock starts where the configuration says, from 1970 to 2200, whatever the machine's clock shows.", body: clockStarts},
		{ID: "HOST-022", Level: MUST, Rule: "Zone and monotonic reading of the start are ignored: the guest sees UTC.", body: clockZone},
		{ID: "HOST-023", Level: MUST, Rule: "The time zone is UTC in summer and in winter, whatever the machine's is.", body: script{
			source: "[new Date(2031, 0, 15, 12), new Date(2031, 6, 15, 12), new Date('2031-07-15T12:00:00'), new Date(2031, 2, 30, 2, 30)].map((d) => d.toISOString() + d.getTimezoneOffset())",
			value:  `["2031-01-15T12:00:00.000Z0","2031-07-15T12:00:00.000Z0","2031-07-15T12:00:00.000Z0","2031-03-30T02:30:00.000Z0"]`,
		}.body()},
		{ID: "HOST-024", Level: MUST, Rule: "Every way to ask for the time gives the guest's clock.", body: script{
			source: "const start = " + strconv.FormatInt(checkTime().UnixMilli(), 10) + "; const near = (t) => t > start - 1000 && t < start + input; " +
				"[Date.now(), +new Date(), Date.parse(Date()), Reflect.construct(Date, []).getTime(), typeof globalThis.performance?.timeOrigin === 'number' ? performance.timeOrigin + performance.now() : start].map(near)",
			within: 5 * time.Second, value: "[true,true,true,true,true]",
		}.body()},
		{ID: "HOST-025", Level: MUST, Rule: "A script that waits in a loop for 25 ms of its clock ends.", body: script{
			source: "const t = Date.now(); while (Date.now() - t < 25) ; Number.isInteger(t)", value: "true",
		}.body()},
		{ID: "HOST-026", Level: MUST, Rule: "The clock never goes back.", body: script{
			source: "let last = Date.now(), back = 0; for (let i = 0; i < 20000; i++) { const t = Date.now(); if (t < last) back++; last = t } back", value: "0",
		}.body()},
		{ID: "HOST-027", Level: MUST, Rule: "The clock of an isolate goes on from one eval to the next.", body: clockGoesOn},
		{ID: "HOST-028", Level: SHOULD, Rule: "performance.now starts near zero.", body: script{
			source: "const t = performance.now(); t >= 0 && t < input", within: 5 * time.Second, value: "true",
		}.body()},
	}
}

// clockTolerance is what the guest's own beginnings may take of its time.
const clockTolerance = 5 * time.Second

func clockStarts(ctx context.Context, s *subject) error {
	for _, now := range []time.Time{
		time.Unix(0, 0), time.Date(2000, 2, 29, 23, 59, 58, 0, time.UTC), time.Date(2038, 1, 19, 3, 14, 6, 0, time.UTC),
		time.Date(2106, 2, 7, 6, 28, 14, 0, time.UTC), time.Date(2199, 12, 31, 0, 0, 0, 999_000_000, time.UTC),
	} {
		if err := s.wantClock(ctx, now); err != nil {
			return err
		}
	}
	return nil
}

func clockZone(ctx context.Context, s *subject) error {
	east := time.FixedZone("east", 5*3600+1800)
	for _, now := range []time.Time{checkTime().In(east), checkTime().In(time.FixedZone("west", -8*3600)), time.Now().In(east)} {
		if err := s.wantClock(ctx, now); err != nil {
			return err
		}
	}
	return nil
}

// wantClock demands that a script begins at now, and in UTC.
func (s *subject) wantClock(ctx context.Context, now time.Time) error {
	out, err := s.eval(ctx, "const t = Date.now(); new Date(t).getTimezoneOffset() === 0 ? t : 'zone'", "", func(c *spi.Config) { c.Now = now })
	if err != nil {
		return err
	}
	ms, err := strconv.ParseInt(string(out.Value), 10, 64)
	if err != nil {
		return fmt.Errorf("opened at %v the script sees %s (%s)", now, clip(string(out.Value)), ending(out))
	}
	if off := time.UnixMilli(ms).Sub(now); off < -time.Millisecond || off > s.allow(clockTolerance) {
		return fmt.Errorf("opened at %v the script sees %v", now.UTC(), time.UnixMilli(ms).UTC())
	}
	return nil
}

func clockGoesOn(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	if _, err := s.evalIn(ctx, iso, timers+"globalThis.before = Date.now(); await new Promise((r) => later(r, 5000)); globalThis.waited = Date.now()", ""); err != nil {
		return err
	}
	out, err := s.evalIn(ctx, iso, "[typeof setTimeout !== 'function' || waited - before >= 5000, Date.now() >= waited, Date.now() - waited < 3600000]", "")
	if err != nil {
		return err
	}
	return wantValue(out, "[true,true,true]")
}
