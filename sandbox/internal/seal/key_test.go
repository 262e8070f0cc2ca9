package seal_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox/internal/seal"
)

func line(id string) string {
	k := key(id)
	return id + " " + base64.StdEncoding.EncodeToString(k.Secret[:])
}

func TestTheFirstKeyOfATextSealsAndAllOpen(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"lines":                     line("new") + "\n" + line("old") + "\n",
		"no end of the last line":   line("new") + "\n" + line("old"),
		"lines of Windows":          line("new") + "\r\n" + line("old") + "\r\n",
		"comments and empty lines":  "# keys\n\n  \t\n" + line("new") + " # since March\n#\n" + line("old") + "#\n\n",
		"white space around fields": "\t" + strings.Replace(line("new"), " ", "\t  ", 1) + "  \n " + line("old"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := seal.ParseKeys(text)
			require.NoError(t, err)
			got, err := open(r, sealed(t, ring(t, "old"), []byte("state")))
			require.NoError(t, err)
			assert.Equal(t, "state", string(got))
			_, err = open(ring(t, "new"), sealed(t, r, nil))
			require.NoError(t, err)
		})
	}
}

func TestABadTextOfKeysIsRefusedByLine(t *testing.T) {
	t.Parallel()
	base64Of := func(n int) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", n))) }
	var many strings.Builder
	for i := range seal.MaxKeys + 1 {
		fmt.Fprintln(&many, line(fmt.Sprint("k", i)))
	}
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", "", "there must be at least one key, as a line with an ID and the base64 of 32 bytes"},
		{"only comments", "# k1 secret\n\n", "there must be at least one key"},
		{"only an ID", "# a\nk1\n", "line 2 of the keys: key is not allowed: a line must be an ID and the base64 of 32 bytes"},
		{"only a secret", base64Of(32), "line 1 of the keys: key is not allowed: a line must be"},
		{"three fields", line("k1") + "\n\n" + line("k2") + " c3NzLWV4dHJh", "line 3 of the keys: key is not allowed: a line must be"},
		{"no base64", "k1 sss!", "line 1 of the keys: key is not allowed: a secret must be the padded base64 of 32 bytes"},
		{"31 bytes", "k1 " + base64Of(31), "line 1 of the keys: key is not allowed: a secret must"},
		{"33 bytes", "k1 " + base64Of(33), "line 1 of the keys: key is not allowed: a secret must"},
		{"no padding", "k1 " + strings.TrimRight(base64Of(32), "="), "a secret must be the padded base64"},
		{"bits after the end", "k1 " + strings.Replace(base64Of(32), "M=", "N=", 1), "a secret must be the padded base64"},
		{"base64 of URLs", "k1 " + strings.Repeat("_", 43) + "=", "a secret must be the padded base64"},
		{"all zero", "k1 " + base64.StdEncoding.EncodeToString(make([]byte, 32)), "a secret must not be all zero"},
		{"an ID in capitals", "K1 " + base64Of(32), "an ID must be 1 to 32 characters of a-z, 0-9, '.', '_' and '-'"},
		{"an ID too long", strings.Repeat("k", 33) + " " + base64Of(32), "an ID must be 1 to 32 characters"},
		{"a byte order mark", "\ufeff" + line("k1"), "line 1 of the keys: key is not allowed: an ID must"},
		{"an ID twice", line("k1") + "\nk1 " + base64Of(32), "line 2 of the keys: key is not allowed: the IDs of keys must differ"},
		{"a secret twice", "k1 " + base64Of(32) + "\nk2 " + base64Of(32), "line 2 of the keys: key is not allowed: the secrets of keys must differ"},
		{"too many", many.String(), "line 65 of the keys: key is not allowed: there must be at most 64 keys"},
		{"too long", strings.Repeat("#\n", seal.MaxKeyTextBytes/2) + "#", "the text of all keys must be at most 65536 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, err := seal.ParseKeys(tc.text)
			require.ErrorIs(t, err, seal.ErrKey)
			require.ErrorContains(t, err, tc.want)
			assert.Nil(t, r)
			assert.True(t, strings.HasPrefix(err.Error(), "seal: "))
			for _, part := range []string{"sss", "c3Nz", "K1", "\n", "ccc"} {
				assert.NotContains(t, err.Error(), part)
			}
		})
	}
}

func TestKeysOfARingAreChecked(t *testing.T) {
	t.Parallel()
	good, namesake, twin := key("k1"), key("k1"), key("k1")
	namesake.Secret[0] ^= 1
	twin.ID = "k2"
	for name, keys := range map[string][]seal.Key{
		"no ID":              {{Secret: good.Secret}},
		"no secret":          {{ID: "k1"}},
		"a space in an ID":   {{ID: "k 1", Secret: good.Secret}},
		"an older namesake":  {good, namesake},
		"an older twin":      {good, twin},
		"an older one is no": {good, {ID: "k2"}},
	} {
		_, err := seal.NewRing(keys[0], keys[1:]...)
		assert.ErrorIs(t, err, seal.ErrKey, name)
	}
	_, err := seal.NewRing(seal.Key{ID: "az09._-" + strings.Repeat("k", 25), Secret: good.Secret})
	require.NoError(t, err)
}

func TestPrintingShowsNoSecret(t *testing.T) {
	t.Parallel()
	k := key("k1")
	r := ring(t, "k1", "k2")
	var seen []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%t"} {
		for _, v := range []any{k, &k, r, []seal.Key{k}, struct{ R *seal.Ring }{r}} {
			seen = append(seen, fmt.Sprintf(verb, v))
		}
	}
	for _, v := range []any{k, &k, r, map[string]any{"k": k}} {
		out, err := json.Marshal(v)
		require.NoError(t, err)
		seen = append(seen, string(out))
	}
	for _, text := range seen {
		for _, part := range []string{"s3cret", "733363", "115 51", "115,51", "0x73"} {
			assert.NotContains(t, text, part)
		}
	}
	assert.Equal(t, "key(k1)", fmt.Sprint(k))
	assert.Equal(t, "key(?)", fmt.Sprint(seal.Key{ID: "s3cret\n"}))
	assert.Equal(t, "ring(2 keys)", fmt.Sprint(r))
	assert.Equal(t, "ring(nil)", fmt.Sprint((*seal.Ring)(nil)))
}

func FuzzParseKeys(f *testing.F) {
	f.Add(line("k1") + "\n# c\n" + line("k2"))
	f.Add("k1 !\n")
	f.Add("\xff\x00 \u2028")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := seal.ParseKeys(text)
		if err != nil {
			require.ErrorIs(t, err, seal.ErrKey)
			require.Nil(t, r)
			require.NotContains(t, err.Error(), "\n")
			require.Less(t, len(err.Error()), 200)
			return
		}
		_, err = open(r, sealed(t, r, []byte("state")))
		require.NoError(t, err)
	})
}
