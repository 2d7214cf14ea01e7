package addons

import (
	"fmt"
	"strings"
)

// annotationRequest asks for a look, and for a fresh start of what has been given up, on our kinds as on Flux's.
const annotationRequest = "reconcile.fluxcd.io/requestedAt"

// firstFailing finds the release that the add-on cannot get on for: one that fails, or else one that Flux should have been done with.
func firstFailing(o Observation) (Observed, bool) {
	if failing, ok := firstIn(o, PhaseFailing); ok {
		return failing, true
	}
	return firstOverdue(o)
}

func firstOverdue(o Observation) (Observed, bool) {
	for _, name := range inOrder(o) {
		if o.Releases[name].Overdue {
			return o.Releases[name], true
		}
	}
	return Observed{}, false
}

// aftermath says, after the cause of a failure, what it has left behind and what to do; empty where Flux tries again by itself and nothing
// but the cause matters.
func aftermath(o Observation, failing Observed) string {
	var parts []string
	switch {
	case failing.RolledBack && SameChartVersion(failing.ChartVersion, failing.AskedVersion):
		parts = append(parts, fmt.Sprintf("so chart %s runs with its earlier values", failing.ChartVersion))
	case failing.RolledBack:
		parts = append(parts, fmt.Sprintf("so chart %s runs as before", failing.ChartVersion))
	}
	if len(failing.NewCRDs) > 0 {
		parts = append(parts, fmt.Sprintf("its CRDs are those of chart %s all the same, since CRDs do not roll back: %s", failing.AskedVersion, FirstFew(failing.NewCRDs, maxNamed)))
	}
	if failing.Stalled {
		parts = append(parts, fmt.Sprintf("Flux does not try again by itself: correct the values, ask for a newer version, or have it tried once more with: "+
			`kubectl annotate --overwrite addon %s %s="$(date +%%s)"`, o.Addon.Name, annotationRequest))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}
