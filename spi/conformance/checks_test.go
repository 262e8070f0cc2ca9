package conformance

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChecksAreNumberedInTheirGroups(t *testing.T) {
	t.Parallel()
	all := Checks()
	require.GreaterOrEqual(t, len(all), 80)
	pattern := regexp.MustCompile(`^[A-Z]+-[0-9]{3}$`)
	var groups []string
	last := ""
	for _, c := range all {
		require.Regexp(t, pattern, c.ID)
		group, _, _ := strings.Cut(c.ID, "-")
		if len(groups) > 0 && groups[len(groups)-1] == group {
			require.Less(t, last, c.ID, "ascending, and each once")
		} else {
			require.NotContains(t, groups, group, "%s: a group is in one place", c.ID)
			groups = append(groups, group)
		}
		last = c.ID
	}
	assert.Subset(t, groups, []string{"DESC", "EVAL", "VALUE", "ERROR", "WEB"})
}

func TestARuleIsOneSentenceOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, c := range Checks() {
		assert.True(t, strings.HasSuffix(c.Rule, "."), "%s: %s", c.ID, c.Rule)
		assert.NotRegexp(t, `[.!?]\s|\n|\s$|^\s|  `, c.Rule, c.ID)
		n := utf8.RuneCountInString(c.Rule)
		assert.True(t, n >= 20 && n <= 160, "%s: a rule of %d characters", c.ID, n)
		assert.Equal(t, c.Rule, cleanLine(c.Rule), c.ID)
		assert.Empty(t, seen[c.Rule], "%s has the same rule", c.ID)
		seen[c.Rule] = c.ID
	}
}

func TestAChecksOtherPartsAreSound(t *testing.T) {
	t.Parallel()
	needs := []Need{
		NeedFuel, NeedNoFuel, NeedExactFuel, NeedStack, NeedExactStack, NeedImage, NeedPrepares, NeedNoPrepares,
		NeedHostCalls, NeedNoHostCalls, NeedSuspends, NeedNoSuspends,
	}
	for _, c := range Checks() {
		assert.NotNil(t, c.body, c.ID)
		assert.Contains(t, []Level{MUST, SHOULD}, c.Level, c.ID)
		assert.True(t, c.Watchdog >= 0 && c.Watchdog <= 5*time.Minute, c.ID)
		for _, n := range c.Needs {
			assert.Contains(t, needs, n, c.ID)
		}
		assert.False(t, slices.Contains(c.Needs, NeedFuel) && slices.Contains(c.Needs, NeedNoFuel), "%s never applies", c.ID)
		assert.False(t, slices.Contains(c.Needs, NeedPrepares) && slices.Contains(c.Needs, NeedNoPrepares), "%s never applies", c.ID)
		assert.False(t, slices.Contains(c.Needs, NeedHostCalls) && slices.Contains(c.Needs, NeedNoHostCalls), "%s never applies", c.ID)
		assert.False(t, slices.Contains(c.Needs, NeedSuspends) && slices.Contains(c.Needs, NeedNoSuspends), "%s never applies", c.ID)
	}
}

func TestTheListIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	list := Checks()
	id := list[0].ID
	list[0].ID = "OTHER-001"
	assert.Equal(t, id, Checks()[0].ID)
}
