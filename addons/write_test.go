package addons

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// installed is a release that runs settled at 1.1.0, from a chart of its own name in the namespace a.
func installed(name string) Observed {
	o := settledAt(name, "1.1.0")
	o.UID, o.Chart, o.AskedChart, o.Namespace, o.TargetNamespace = "uid-of-"+name, name, name, "a", "a"
	return o
}

func elsewhere(def *v1alpha1.AddonDefinition) {
	for i := range def.Spec.Releases {
		def.Spec.Releases[i].Namespace = "elsewhere"
	}
}

func chartOf(chart string) edit {
	return func(def *v1alpha1.AddonDefinition) { def.Spec.Releases[0].Chart.Name = chart }
}

// observed is the add-on "a", wanted at 1.1.0, as one of these definitions has it.
func observedWith(def v1alpha1.AddonDefinition, word string, list ...Observed) Observation {
	o := Observation{Addon: present("default", "a@1.1.0"), Definition: &def, Releases: byName(list...)}
	if word != "" {
		o.Addon.Annotations = map[string]string{v1alpha1.AnnotationAllowReplace: word}
	}
	return o
}

// wordOf is what an add-on asks people to say before it replaces something; empty when it asks for nothing.
func wordOf(t *testing.T, o Observation) string {
	t.Helper()
	_, d, asked := find(o)
	if d.Hold == nil {
		return ""
	}
	_, word, asks := strings.Cut(d.Hold.Message, "kubectl annotate --overwrite addon a "+v1alpha1.AnnotationAllowReplace+"=")
	if asks {
		assert.Empty(t, d.Write)
		assert.Empty(t, d.Delete)
		assert.Empty(t, d.Version)
		assert.NotContains(t, strings.Join(asked, " "), "remove", "no gate is asked before people have said so")
		assert.Equal(t, v1alpha1.BlockerAddonDefinition, d.Hold.By.Kind)
		assert.Regexp(t, "^[0-9a-f]{8}$", word)
	}
	return word
}

func TestReplacementsNeedAWord(t *testing.T) {
	t.Parallel()
	changed := func(change func(*Observed)) Observed {
		o := installed("a")
		change(&o)
		return o
	}
	for name, test := range map[string]struct {
		definition v1alpha1.AddonDefinition
		releases   []Observed
		asks       string // empty when nothing is asked for
	}{
		"nothing changes": {minors(), []Observed{installed("a")}, ""},
		"another chart": {minors(releases("a"), chartOf("b")), []Observed{installed("a")},
			"release a was installed from chart a into namespace a, and its definition now says chart b and namespace a"},
		"another namespace": {minors(releases("a"), elsewhere), []Observed{installed("a")},
			"release a was installed from chart a into namespace a, and its definition now says chart a and namespace elsewhere"},
		"a chart in a folder": {minors(releases("a"), chartOf("library/a")), []Observed{installed("a")}, ""},
		"another one in a folder": {minors(releases("a"), chartOf("library/b")), []Observed{installed("a")},
			"release a was installed from chart a into namespace a, and its definition now says chart library/b and namespace a"},
		"nothing is installed yet": {minors(releases("a"), chartOf("b")), []Observed{changed(func(o *Observed) { o.Chart, o.TargetNamespace = "", "" })}, ""},
		"Flux has yet to act on it": {minors(releases("a"), chartOf("b"), elsewhere),
			[]Observed{changed(func(o *Observed) { o.AskedChart, o.Namespace, o.Phase = "b", "elsewhere", PhaseProgressing })}, ""},
		"taken back before Flux has acted on it": {minors(), []Observed{changed(func(o *Observed) { o.AskedChart, o.Namespace = "b", "elsewhere" })}, ""},
		"half of it is written": {minors(releases("a"), chartOf("b"), elsewhere), []Observed{changed(func(o *Observed) { o.AskedChart = "b" })},
			"release a was installed from chart a into namespace a, and its definition now says chart b and namespace elsewhere"},
		"a release that is named no more": {minors(), []Observed{installed("a"), installed("b")}, "release b is installed, and its definition does not name it any more"},
		"two at once": {minors(releases("a"), chartOf("c")), []Observed{installed("a"), installed("b")},
			"release a was installed from chart a into namespace a, and its definition now says chart c and namespace a; " +
				"release b is installed, and its definition does not name it any more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := observedWith(test.definition, "", test.releases...)
			word := wordOf(t, o)
			if test.asks == "" {
				require.Empty(t, word)
				return
			}
			require.NotEmpty(t, word)
			_, d, _ := find(o)
			assert.True(t, strings.HasPrefix(d.Hold.Message, test.asks+"; Flux would uninstall what runs first, and its data might go: "), d.Hold.Message)
			assert.True(t, Summarize(o, d).Stalled)

			_, d, _ = find(observedWith(test.definition, word, test.releases...))
			assert.NotEqual(t, len(d.Write) > 0, len(d.Delete) > 0, "it goes on, either to write or first to uninstall")
			for _, wrong := range []string{word[1:], word + "0", strings.ToUpper(word) + " ", "true", "a"} {
				assert.Equal(t, word, wordOf(t, observedWith(test.definition, wrong, test.releases...)), "%q is not the word", wrong)
			}
		})
	}
}

// The word is for the HelmReleases that there are, as they are: it allows nothing a second time.
func TestWordsHoldOnce(t *testing.T) {
	t.Parallel()
	words := map[string]string{}
	remember := func(name string, def v1alpha1.AddonDefinition, list ...Observed) {
		word := wordOf(t, observedWith(def, "", list...))
		require.NotEmpty(t, word, name)
		require.Empty(t, words[word], "%s needs the same word as %s", name, words[word])
		words[word] = name
	}
	moved := minors(releases("a"), chartOf("b"))
	later, anew, other := installed("a"), installed("a"), installed("b")
	later.Token, anew.UID, other.UID = "later", "anew", "anew"
	remember("another chart", moved, installed("a"))
	remember("the same after a change", moved, later)
	remember("the same of a HelmRelease that was made anew", moved, anew)
	remember("yet another chart", minors(releases("a"), chartOf("c")), installed("a"))
	remember("another namespace", minors(releases("a"), elsewhere), installed("a"))
	remember("one named no more", minors(), installed("a"), installed("b"))
	remember("another one named no more", minors(), installed("a"), installed("c"))
	remember("one that was made anew and is named no more", minors(), installed("a"), other)
}

func TestReplacementsPassTheGatesOfARemoval(t *testing.T) {
	t.Parallel()
	asked := []string{"a/remove-1, a/remove-2", "a/remove-1 now, a/remove-2 now"}
	going := installed("b")
	going.Phase = PhaseDeleting
	gone := going
	gone.Uninstall = UninstallDone
	moved, named := guarded(releases("a"), chartOf("b")), guarded()
	for name, test := range map[string]struct {
		definition v1alpha1.AddonDefinition
		releases   []Observed
		closed     string
		want       outcome
	}{
		"another chart": {definition: moved, releases: []Observed{installed("a")}, want: outcome{asked: asked, writes: "1.1.0", gates: "remove-1 remove-2"}},
		"another chart behind a closed gate": {definition: moved, releases: []Observed{installed("a")}, closed: "lately a/remove-1", want: outcome{
			asked: asked, message: "it is not removed while its gate remove-1 is closed: pods are left", blocked: "Gate/remove-1", gates: "-remove-1 remove-2",
		}},
		"named no more": {definition: named, releases: []Observed{installed("a"), installed("b")}, want: outcome{
			asked: asked, deletes: "b", message: "uninstalling what the definition names no more: b", blocked: "HelmRelease/b", gates: "remove-1 remove-2",
		}},
		"named no more behind a closed gate": {definition: named, releases: []Observed{installed("a"), installed("b")}, closed: "a/remove-1", want: outcome{
			asked: asked[:1], message: "it is not removed while its gate remove-1 is closed: pods are left", blocked: "Gate/remove-1", gates: "-remove-1 remove-2",
		}},
		"the last of those named no more goes first": {definition: named, releases: []Observed{installed("a"), installed("b"), after(installed("c"), "b"), after(installed("a"), "b")}, want: outcome{
			asked: asked, deletes: "c", message: "uninstalling what the definition names no more: b, c", blocked: "HelmRelease/b", gates: "remove-1 remove-2",
		}},
		"uninstalled and not let go yet": {definition: named, releases: []Observed{installed("a"), gone}, want: outcome{
			asked: asked, message: "uninstalling what the definition names no more: b", blocked: "HelmRelease/b", gates: "remove-1 remove-2",
		}},
		"being uninstalled": {definition: named, releases: []Observed{installed("a"), going}, want: outcome{
			asked: asked, message: "uninstalling what the definition names no more: b", blocked: "HelmRelease/b", gates: "remove-1 remove-2",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := observedWith(test.definition, "", test.releases...)
			o.Addon.Annotations = map[string]string{v1alpha1.AnnotationAllowReplace: wordOf(t, o)}
			var closed []string
			if test.closed != "" {
				closed = []string{test.closed}
			}
			got := outcomeOf(o, closed...)
			for i := range got.asked { // health is asked for beside, for the summary
				got.asked[i] = strings.TrimSuffix(got.asked[i], ", a/works")
			}
			assert.Equal(t, test.want, got)
		})
	}
}
