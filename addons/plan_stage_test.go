package addons

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// demanding lets a version need the add-on "base" in a range.
func demanding(version, within string) edit {
	return at(version, func(v *v1alpha1.VersionDefinition) {
		v.Requires = append(v.Requires, v1alpha1.VersionRequirement{Addon: "base", Version: within})
	})
}

// An add-on moves as far as what runs needs it to stay, and the rest of the way once that has moved.
func TestAnAddOnMovesInStagesWhereOthersNeedIt(t *testing.T) {
	t.Parallel()
	base := define("base", versions("1.0.0", "1.1.0", "1.2.0", "1.3.0"))
	app := define("app", versions("1.0.0", "1.1.0", "1.2.0"), requires("base"),
		demanding("1.0.0", "<1.2"), demanding("1.1.0", ">=1.1 <1.3"), demanding("1.2.0", ">=1.3"))
	idle := define("app", versions("1.0.0"), requires("base"), demanding("1.0.0", "<1.2"))
	for name, test := range map[string]struct {
		app     v1alpha1.AddonDefinition
		there   []string
		running map[string]string
		now     map[string]string // the version that is written for each add-on that changes
		waits   map[string]string
	}{
		"as far as it may": {
			app: app, there: []string{"base@1.0.0", "app@1.0.0"}, running: map[string]string{"base": "1.0.0", "app": "1.0.0"},
			now: map[string]string{"base": "1.1.0", "app": "1.2.0"},
		},
		"on its way there": {
			app: app, there: []string{"base@1.1.0", "app@1.2.0"}, running: map[string]string{"base": "1.0.0", "app": "1.0.0"},
			waits: map[string]string{"base": `add-on "app" runs 1.0.0 and needs this one at <1.2, which 1.2.0 is not`},
		},
		"halfway there": {
			app: app, there: []string{"base@1.1.0", "app@1.2.0"}, running: map[string]string{"app": "1.0.0"},
			waits: map[string]string{"base": `add-on "app" runs 1.0.0 and needs this one at <1.2, which 1.3.0 is not`},
		},
		"there": {
			app: app, there: []string{"base@1.1.0", "app@1.2.0"}, running: map[string]string{"base": "1.1.0", "app": "1.0.0"},
			waits: map[string]string{"base": `add-on "app" runs 1.0.0 and needs this one at <1.2, which 1.2.0 is not`},
		},
		"the other one has moved": {
			app: app, there: []string{"base@1.1.0", "app@1.2.0"}, running: map[string]string{"base": "1.1.0", "app": "1.1.0"},
			now: map[string]string{"base": "1.2.0"},
		},
		"what does not run needs nothing": {
			app: app, there: []string{"base@1.0.0"}, running: map[string]string{"base": "1.0.0"},
			now: map[string]string{"base": "1.3.0", "app": "1.2.0"},
		},
		"a new one waits for what gets on without it, but not with it": {
			app:   define("app", versions("1.0.0", "1.1.0"), needs(v1alpha1.Requirement{Addon: "base", Optional: true}), demanding("1.0.0", "<1.2")),
			there: []string{"app@1.0.0"}, running: map[string]string{"app": "1.0.0"},
			now:   map[string]string{"app": "1.1.0"},
			waits: map[string]string{"base": `add-on "app" runs 1.0.0 and needs this one at <1.2, which 1.3.0 is not`},
		},
		"what is not to move keeps it": {
			app: idle, there: []string{"base@1.0.0", "app@1.0.0"}, running: map[string]string{"base": "1.0.0", "app": "1.0.0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := installer("default", 1, "base", "app")
			world := World{Catalog: catalogOf(base, test.app), Installers: []*v1alpha1.Installer{subject}}
			for _, entry := range test.there {
				world.Addons = append(world.Addons, present("default", entry))
			}
			plan := MakePlan(world, subject, Resolve(world, subject), test.running)
			now, waits := map[string]string{}, map[string]string{}
			for _, change := range plan.Changes {
				if change.Waits != "" {
					waits[change.Addon] = change.Waits
					continue
				}
				spec := change.Now()
				now[change.Addon] = spec.Version
			}
			if test.now == nil {
				test.now = map[string]string{}
			}
			if test.waits == nil {
				test.waits = map[string]string{}
			}
			assert.Equal(t, test.now, now)
			assert.Equal(t, test.waits, waits)
		})
	}
}

// The base waits for the last one, which waits for the middle one to settle, which would wait for the base: it settles at what it runs.
func TestAddOnsInARingMoveInStages(t *testing.T) {
	t.Parallel()
	catalog := catalogOf(define("base", versions("1.0.0", "1.1.0")),
		define("middle", versions("1.0.0", "1.1.0"), requires("base"), demanding("1.1.0", ">=1.1")),
		define("last", versions("1.0.0", "1.1.0"), requires("base", "middle"), demanding("1.0.0", "<1.1")))
	subject := installer("default", 1, "base", "middle", "last")
	written := func(middle string) (PlannedChange, PlannedChange) {
		world := World{Catalog: catalog, Installers: []*v1alpha1.Installer{subject}, Addons: []*v1alpha1.Addon{
			present("default", "base@1.0.0"), present("default", "middle@"+middle), present("default", "last@1.1.0"),
		}}
		plan := MakePlan(world, subject, Resolve(world, subject), map[string]string{"base": "1.0.0", "middle": "1.0.0", "last": "1.0.0"})
		require.Len(t, plan.Changes, 2)
		return plan.Changes[0], plan.Changes[1]
	}
	base, middle := written("1.1.0")
	assert.Equal(t, `add-on "last" runs 1.0.0 and needs this one at <1.1, which 1.1.0 is not`, base.Waits)
	assert.Empty(t, middle.Waits)
	assert.Equal(t, "1.0.0", middle.Now().Version)
	_, middle = written("1.0.0")
	assert.Equal(t, `1.1.0 needs add-on "base" at >=1.1, which runs 1.0.0 and waits for others`, middle.Waits)
}

// A version that has moved away from what others run is held by the add-on itself too, and names them.
func TestAHopIsHeldByWhatOthersNeed(t *testing.T) {
	t.Parallel()
	catalog := catalogOf(define("a", versions("1.0.0", "1.1.0", "1.2.0")))
	o := Observation{
		Addon: present("default", "a@1.2.0"), Needs: []Need{{Addon: "b", Running: "3.0.0", Range: "<1.2"}},
		Releases: map[string]Observed{"a": {Name: "a", Phase: PhaseSettled, AskedVersion: "1.0.0", ChartVersion: "1.0.0", AskedChart: "a", Chart: "a"}},
	}
	var err error
	o.Definition, err = catalog.Get("a")
	require.NoError(t, err)
	d := Decide(o)
	require.NotNil(t, d.Hold)
	assert.Empty(t, d.Write)
	assert.Equal(t, v1alpha1.StateBlocked, d.Hold.State)
	assert.Equal(t, v1alpha1.Blocker{Kind: v1alpha1.BlockerAddon, Name: "b", Message: "runs 3.0.0, which needs a at <1.2"}, d.Hold.By)
	assert.Contains(t, d.Hold.Message, `add-on "b" runs 3.0.0 and needs this one at <1.2, which 1.2.0 is not`)
}
