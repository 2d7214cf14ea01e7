package controllers

import (
	"fmt"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/flux"
)

// refusedShown is how many values that a chart refuses are named.
const refusedShown = 5

// refused says which of a release's values its chart refuses, and what to do; empty when none is known.
func refused(chart *flux.Chart, release addons.Release) string {
	problems := chart.Refuses(release)
	if len(problems) == 0 {
		return ""
	}
	text := fmt.Sprintf("chart %s %s does not accept the values of release %s: %s; correct them in Installer %s, or in AddonDefinition %s where they are defaults",
		chart.Name, chart.Version, release.Name, addons.FirstClauses(problems, refusedShown), release.Installer, release.Addon)
	if len(release.ValuesFrom) > 0 {
		text += "; what valuesFrom refers to has not been looked into"
	}
	return text
}
