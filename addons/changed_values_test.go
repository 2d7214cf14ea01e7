package addons

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// changing says that a version changed values of the release that has the add-on's name. Each is "path", "path>renamedTo", or either with
// ":message" after it.
func changing(version string, values ...v1alpha1.ChangedValue) edit {
	return func(def *v1alpha1.AddonDefinition) {
		if len(def.Spec.Releases) == 0 {
			releases(def.Name)(def)
		}
		listed := findVersion(def, version)
		if listed.Releases == nil {
			charts := map[string]string{}
			for _, name := range releaseNames(def) {
				charts[name] = version
			}
			charted(version, charts)(def)
		}
		last := releaseNames(def)[len(def.Spec.Releases)-1]
		release := listed.Releases[last]
		release.ChangedValues = append(release.ChangedValues, values...)
		listed.Releases[last] = release
	}
}

func renamed(path, to string) v1alpha1.ChangedValue {
	return v1alpha1.ChangedValue{Path: path, RenamedTo: to}
}

func gone(path, message string) v1alpha1.ChangedValue {
	return v1alpha1.ChangedValue{Path: path, Message: message}
}

// evolving is an add-on whose values change in every way over its versions.
func evolving() v1alpha1.AddonDefinition {
	return define("rook", versions("1.0.0", "2.0.0", "3.0.0", "4.0.0"),
		changing("2.0.0", renamed("a.b", "c.d"), renamed("old", "new"), gone("gone", ""), gone("told", "write a StorageClass instead"), renamed("image", "image.name")),
		changing("3.0.0", renamed("c.d", "e.f"), gone("new.x", ""), renamed(`dot\.ted`, `plain`), gone("back", "")),
		changing("4.0.0", renamed("plain", "back"), v1alpha1.ChangedValue{Path: "both", RenamedTo: "two", Message: "now in MiB"}),
	)
}

func TestResolveRefusesValuesThatTheVersionDoesNotKnow(t *testing.T) {
	t.Parallel()
	const at, not = "spec.addons[rook].values.", `version %s of "rook" does not know it any more; `
	for name, test := range map[string]struct{ version, values, problem string }{
		"known all along":                  {version: "4.0.0", values: `{"x":{"y":1},"a":{"c":1},"newer":2}`},
		"before the change":                {version: "1.0.0", values: `{"a":{"b":1},"old":{"x":1},"gone":1,"image":"x"}`},
		"its new name":                     {version: "2.0.0", values: `{"c":{"d":1},"new":{"x":1,"y":2}}`},
		"its old name":                     {version: "2.0.0", values: `{"a":{"b":1}}`, problem: at + "a.b: " + fmt.Sprintf(not, "2.0.0") + "it is called c.d now"},
		"below its old name":               {version: "2.0.0", values: `{"a":{"b":{"deep":null}}}`, problem: at + "a.b.deep: " + fmt.Sprintf(not, "2.0.0") + "it is called c.d.deep now"},
		"renamed twice, at the first":      {version: "3.0.0", values: `{"a":{"b":1}}`, problem: at + "a.b: " + fmt.Sprintf(not, "2.0.0") + "it is called e.f now"},
		"renamed twice, at the second":     {version: "3.0.0", values: `{"c":{"d":1}}`, problem: at + "c.d: " + fmt.Sprintf(not, "3.0.0") + "it is called e.f now"},
		"removed":                          {version: "4.0.0", values: `{"gone":1}`, problem: at + "gone: " + fmt.Sprintf(not, "2.0.0") + "remove it"},
		"removed, with a word":             {version: "4.0.0", values: `{"told":1}`, problem: at + `told: version 2.0.0 of "rook" does not know it any more: write a StorageClass instead`},
		"renamed, with a word":             {version: "4.0.0", values: `{"both":1}`, problem: at + "both: " + fmt.Sprintf(not, "4.0.0") + "it is called two now: now in MiB"},
		"renamed, then part of it removed": {version: "3.0.0", values: `{"old":{"x":1}}`, problem: at + "old.x: " + fmt.Sprintf(not, "2.0.0") + "it was called new.x then, and version 3.0.0 does not know that either; remove it"},
		"a dot in a key":                   {version: "3.0.0", values: `{"dot.ted":1}`, problem: at + `dot\.ted: ` + fmt.Sprintf(not, "3.0.0") + "it is called plain now"},
		"removed, and there again":         {version: "4.0.0", values: `{"back":1}`},
		"moved below itself":               {version: "2.0.0", values: `{"image":"x"}`, problem: at + "image: " + fmt.Sprintf(not, "2.0.0") + "it is called image.name now"},
		"moved below itself, new form":     {version: "2.0.0", values: `{"image":{"name":"x","tag":"y"}}`},
		"several": {version: "2.0.0", values: `{"told":1,"gone":1}`, problem: at + "gone: " + fmt.Sprintf(not, "2.0.0") + "remove it; " +
			at + `told: version 2.0.0 of "rook" does not know it any more: write a StorageClass instead`},
	} {
		t.Run(name, func(t *testing.T) {
			c := resolveCase{
				catalog: []v1alpha1.AddonDefinition{evolving(), define("other")}, want: []string{"rook@" + test.version, "other"},
				edit:     func(i *v1alpha1.Installer) { i.Spec.Addons[0].Values = rawJSON(test.values) },
				resolved: []string{"other@1.0.0", "rook@" + test.version},
			}
			if test.problem != "" {
				c.resolved, c.problems = []string{"other@1.0.0"}, map[string]string{"rook": test.problem}
			}
			c.run(t)
		})
	}
	t.Run("of one of several releases", resolveCase{
		catalog: []v1alpha1.AddonDefinition{define("rook", releases("operator", "cluster"), versions("1.0.0", "2.0.0"), changing("2.0.0", renamed("a", "b")))},
		want:    []string{"rook"},
		edit: func(i *v1alpha1.Installer) {
			i.Spec.Addons[0].Releases = []v1alpha1.ReleaseOverride{
				{Name: "operator", Values: rawJSON(`{"a":1}`)},
				{Name: "cluster", Values: rawJSON(`{"a":1}`), ValuesFrom: []v1alpha1.ValuesReference{{Kind: "Secret", Name: "s"}}},
			}
		},
		problems: map[string]string{"rook": `spec.addons[rook].releases[cluster].values.a: version 2.0.0 of "rook" does not know it any more; ` +
			"it is called b now; what valuesFrom refers to has not been looked into, change it there too"},
	}.run)
	t.Run("in Secrets, nobody can look", resolveCase{
		catalog: []v1alpha1.AddonDefinition{evolving()},
		want:    []string{"rook"},
		edit: func(i *v1alpha1.Installer) {
			i.Spec.Addons[0].ValuesFrom = []v1alpha1.ValuesReference{{Kind: "Secret", Name: "s"}}
		},
		resolved: []string{"rook@4.0.0"},
	}.run)
}

func TestReleasesOnTheWayAreGivenOldNames(t *testing.T) {
	t.Parallel()
	def := evolving()
	for name, test := range map[string]struct {
		wanted, at  string
		values, got string
	}{
		"at the wanted version":    {wanted: "4.0.0", at: "4.0.0", values: `{"e":{"f":1}, "a":{"b":2}}`, got: `{"e":{"f":1}, "a":{"b":2}}`},
		"one version back":         {wanted: "3.0.0", at: "2.0.0", values: `{"e":{"f":1}}`, got: `{"c":{"d":1}}`},
		"over two renames":         {wanted: "3.0.0", at: "1.0.0", values: `{"e":{"f":1}}`, got: `{"a":{"b":1}}`},
		"a null":                   {wanted: "3.0.0", at: "1.0.0", values: `{"e":{"f":null}}`, got: `{"a":{"b":null}}`},
		"a map":                    {wanted: "2.0.0", at: "1.0.0", values: `{"new":{"y":1,"z":{"w":[1]}}}`, got: `{"old":{"y":1,"z":{"w":[1]}}}`},
		"beside what stays":        {wanted: "3.0.0", at: "1.0.0", values: `{"e":{"f":1,"g":2},"a":{"q":3}}`, got: `{"e":{"g":2},"a":{"b":1,"q":3}}`},
		"a key that is used again": {wanted: "4.0.0", at: "2.0.0", values: `{"back":1}`, got: `{"dot.ted":1}`},
		"moved below itself":       {wanted: "2.0.0", at: "1.0.0", values: `{"image":{"name":"x","tag":"y"}}`, got: `{"image":"x"}`},
		"large numbers":            {wanted: "2.0.0", at: "1.0.0", values: `{"c":{"d":12345678901234567890},"n":1e3}`, got: `{"a":{"b":12345678901234567890},"n":1e3}`},
		"nothing of it":            {wanted: "4.0.0", at: "1.0.0", values: `{"z": 1 }`, got: `{"z": 1 }`},
		"a version ahead":          {wanted: "1.0.0", at: "3.0.0", values: `{"a":{"b":1},"gone":2,"old":{"x":3,"y":4}}`, got: `{"e":{"f":1},"gone":2,"new":{"x":3,"y":4}}`},
		"an unlisted version":      {wanted: "9.0.0", at: "1.0.0", values: `{"e":{"f":1}}`, got: `{"e":{"f":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := Releases(&def, &v1alpha1.AddonSpec{Version: test.wanted, Values: rawJSON(test.values)}, test.at, nil)
			require.Len(t, list, 1)
			assert.Equal(t, compact(t, test.got), compact(t, string(list[0].Values.Raw)))
		})
	}
	assert.Nil(t, Releases(&def, &v1alpha1.AddonSpec{Version: "4.0.0"}, "1.0.0", nil)[0].Values)
}

// compact writes JSON in one way, without a change to its numbers.
func compact(t require.TestingT, text string) string {
	written, err := json.Marshal(exactValues(rawJSON(text)))
	require.NoError(t, err)
	return string(written)
}

func TestAUsersRenamedValueStandsAboveAnOldDefault(t *testing.T) {
	t.Parallel()
	def := define("rook", versions("1.0.0", "2.0.0"), changing("2.0.0", renamed("a.b", "c.d")))
	first := def.Spec.Versions[0].Releases["rook"]
	first.Values = rawJSON(`{"a":{"b":"default","z":1}}`)
	def.Spec.Versions[0].Releases["rook"] = first
	without := Releases(&def, &v1alpha1.AddonSpec{Version: "2.0.0", Values: rawJSON(`{"x":1}`)}, "1.0.0", nil)[0]
	assert.JSONEq(t, `{"x":1}`, string(without.Values.Raw))
	assert.Equal(t, map[string]any{"a": map[string]any{"b": "default", "z": 1.0}}, without.Defaults)
	with := Releases(&def, &v1alpha1.AddonSpec{Version: "2.0.0", Values: rawJSON(`{"c":{"d":"mine"}}`)}, "1.0.0", nil)[0]
	assert.Equal(t, map[string]any{"a": map[string]any{"b": "mine", "z": 1.0}}, Merge(with.Defaults, decodeValues(with.Values)))
}

// An add-on that goes only part of the way for now has values in the words of the version that it goes to.
func TestAStageIsGivenOldNames(t *testing.T) {
	t.Parallel()
	base := define("base", versions("1.0.0", "1.1.0", "1.2.0"), changing("1.2.0", renamed("old", "new")))
	app := define("app", versions("1.0.0", "1.1.0"), requires("base"), demanding("1.0.0", "<1.2"))
	subject := installer("default", 1, "base", "app")
	subject.Spec.Addons[0].Values = rawJSON(`{"new":1,"same":2}`)
	world := World{Catalog: catalogOf(base, app), Installers: []*v1alpha1.Installer{subject}, Addons: []*v1alpha1.Addon{present("default", "base@1.0.0"), present("default", "app@1.0.0")}}
	plan := MakePlan(world, subject, Resolve(world, subject), map[string]string{"base": "1.0.0", "app": "1.0.0"})
	require.Len(t, plan.Changes, 2)
	now := plan.Changes[0].Now()
	assert.Equal(t, "1.1.0", now.Version)
	assert.JSONEq(t, `{"old":1,"same":2}`, string(now.Values.Raw))
	assert.Equal(t, "1.2.0", plan.Changes[0].Spec.Version, "what is approved is the whole way")
	assert.JSONEq(t, `{"new":1,"same":2}`, string(plan.Changes[0].Spec.Values.Raw))

	several := define("several", releases("first", "second"), versions("1.0.0", "2.0.0"), changing("2.0.0", renamed("old", "new")))
	spec := v1alpha1.AddonSpec{Version: "2.0.0", Releases: []v1alpha1.ReleaseOverride{{Name: "second", Values: rawJSON(`{"new":1}`)}, {Name: "first", Values: rawJSON(`{"new":1}`)}}}
	staged := inWordsOf(&several, spec, "1.0.0")
	assert.JSONEq(t, `{"old":1}`, string(staged.Releases[0].Values.Raw))
	assert.JSONEq(t, `{"new":1}`, string(staged.Releases[1].Values.Raw))
	assert.JSONEq(t, `{"new":1}`, string(spec.Releases[0].Values.Raw), "the spec stays as it is")
}

// renames draws an add-on whose versions rename values to names that no version had before.
func renames(t *rapid.T) v1alpha1.AddonDefinition {
	edits := []edit{versions("1.0.0", "2.0.0", "3.0.0", "4.0.0")}
	known, fresh := []string{"a", "b.a", "b.b", "c"}, 0
	for _, version := range []string{"2.0.0", "3.0.0", "4.0.0"} {
		for i, path := range known {
			if rapid.Bool().Draw(t, "renamed "+path+" by "+version) {
				fresh++
				known[i] = rapid.SampledFrom([]string{"", "b.", "n.m."}).Draw(t, "under") + "new" + strconv.Itoa(fresh)
				edits = append(edits, changing(version, renamed(path, known[i])))
			}
		}
	}
	return define("a", edits...)
}

func TestTranslationLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		def := renames(t)
		require.Empty(t, ValidateDefinition(&def))
		list := changesIn(&def, "a")
		values := map[string]any{"untouched": map[string]any{"b": 1.0}, "b": map[string]any{"untouched": nil}}
		for _, path := range []string{"a", "b.a", "b.b", "c"} {
			parsed, err := ParseValuePath(path)
			require.NoError(t, err)
			if rapid.Bool().Draw(t, "set "+path) {
				putValue(values, parsed, someValues().Draw(t, "value"))
			}
		}
		raw, err := json.Marshal(values)
		require.NoError(t, err)
		first := rawJSON(string(raw))
		newest := translateValues(&def, "a", first, "1.0.0", "4.0.0")
		require.Same(t, newest, translateValues(&def, "a", newest, "4.0.0", "4.0.0"), "to the newest version it is the identity")
		for i, version := range []string{"1.0.0", "2.0.0", "3.0.0", "4.0.0"} {
			there := translateValues(&def, "a", newest, "4.0.0", version)
			require.Equal(t, compact(t, string(translateValues(&def, "a", first, "1.0.0", version).Raw)), compact(t, string(there.Raw)),
				"%s speaks one language, whichever side one comes from", version)
			read := decodeValues(there)
			require.Equal(t, map[string]any{"b": 1.0}, read["untouched"], "what was never renamed never moves")
			require.Contains(t, read["b"], "untouched", "what was never renamed never moves, not even a null")
			for _, path := range valuePaths(read) {
				require.Nil(t, list.unknown(path, i), "%s at %s", path, version)
			}
		}
		require.Equal(t, compact(t, string(raw)), compact(t, string(translateValues(&def, "a", newest, "4.0.0", "1.0.0").Raw)))
	})
}

func TestChangedValuesAreValidated(t *testing.T) {
	t.Parallel()
	const field = "spec.versions[1].releases[a].changedValues"
	for name, test := range map[string]struct {
		values []v1alpha1.ChangedValue
		errs   string
	}{
		"valid": {values: []v1alpha1.ChangedValue{renamed("a", "b"), renamed("a.x", "c"), gone(`d\.e.f`, "use g"), renamed("image", "image.name"), renamed("h.i", "h")}},
		"an empty key": {values: []v1alpha1.ChangedValue{gone("a..b", "")},
			errs: field + `[0].path: Invalid value: "a..b": must be keys with a dot between them, such as persistence.size, and one is empty; write a dot that belongs to a key as \. instead`},
		"an escape of nothing": {values: []v1alpha1.ChangedValue{renamed("a", `b\c`)},
			errs: field + `[0].renamedTo: Invalid value: "b\\c": a backslash only stands before a dot or a backslash that belongs to a key, not before 'c'`},
		"to itself": {values: []v1alpha1.ChangedValue{renamed("a", "a")},
			errs: field + `[0].renamedTo: Invalid value: "a": must differ from path; a value that keeps its name is not listed`},
		"twice":           {values: []v1alpha1.ChangedValue{gone("a", ""), renamed("a", "b")}, errs: field + `[1].path: Duplicate value: "a"`},
		"two to one name": {values: []v1alpha1.ChangedValue{renamed("a", "c"), renamed("b", "c")}, errs: field + `[1].renamedTo: Duplicate value: "c"`},
		"to what is taken away": {values: []v1alpha1.ChangedValue{renamed("a", "b"), renamed("b", "c")},
			errs: field + `[0].renamedTo: Invalid value: "b": this version does not know b any more, says another entry of the list; the new name of a value must be one that the version knows`},
		"in a circle": {values: []v1alpha1.ChangedValue{renamed("a", "b"), renamed("b", "a")},
			errs: "[" + field + `[0].renamedTo: Invalid value: "b": this version does not know b any more, says another entry of the list; the new name of a value must be one that the version knows, ` +
				field + `[1].renamedTo: Invalid value: "a": this version does not know a any more, says another entry of the list; the new name of a value must be one that the version knows]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := define("a", versions("1.0.0", "2.0.0"), changing("2.0.0", test.values...))
			err := ValidateDefinition(&def).ToAggregate()
			if test.errs == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.errs)
		})
	}
}
