package addons

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseValuePath(t *testing.T) {
	t.Parallel()
	const empty = `must be keys with a dot between them, such as persistence.size, and one is empty; write a dot that belongs to a key as \. instead`
	for text, test := range map[string]struct {
		path ValuePath
		err  string
	}{
		`a`:             {path: ValuePath{"a"}},
		`a.b.c`:         {path: ValuePath{"a", "b", "c"}},
		`a\.b.c d`:      {path: ValuePath{"a.b", "c d"}},
		`a\\.b`:         {path: ValuePath{`a\`, "b"}},
		`tolerations.0`: {path: ValuePath{"tolerations", "0"}},
		``:              {err: empty},
		`.a`:            {err: empty},
		`a.`:            {err: empty},
		`a..b`:          {err: empty},
		`a\`:            {err: `ends with a backslash; a backslash that belongs to a key is written \\`},
		`a\b`:           {err: `a backslash only stands before a dot or a backslash that belongs to a key, not before 'b'`},
	} {
		path, err := ParseValuePath(text)
		if test.err != "" {
			require.EqualError(t, err, test.err, text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, test.path, path)
		assert.Equal(t, text, path.String())
	}
}

func TestValuePathsAreWrittenAsTheyAreRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		path := ValuePath(rapid.SliceOfN(rapid.StringMatching(`[a-z.\\/é ]+`), 1, 4).Draw(t, "path"))
		read, err := ParseValuePath(path.String())
		require.NoError(t, err)
		require.Equal(t, path, read)
	})
}
