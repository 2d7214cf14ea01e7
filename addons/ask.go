package addons

// Ask is what a decision has to know before it can be made. Whoever observes finds it out, adds it to the observation and decides again.
type Ask struct {
	// Checks to evaluate.
	Checks []Question
	// Owners of Helm releases by the names of these releases, which are not ours yet.
	Owners []Release
	// Charts to look into before these releases move on to them.
	Charts []Release
}

// Empty says whether nothing has to be found out.
func (a Ask) Empty() bool { return len(a.Checks)+len(a.Owners)+len(a.Charts) == 0 }

// Question names a check of a definition.
type Question struct {
	Addon string
	Check string
	// Fresh asks for facts read from the API server now; otherwise facts may be some seconds old.
	Fresh bool
}

// Finding is the result of a check.
type Finding struct {
	Passed bool
	// Message says why the check does not pass and what to do; empty when it passes.
	Message string
	// Fresh says that the facts were read from the API server in this very pass.
	Fresh bool
}

// OwnerFinding says who else has a Helm release of a wanted name.
type OwnerFinding struct {
	// Taken describes what is there: empty when nothing is.
	Taken string
	// Fought says who would fight over the release if it were taken over, and what to do first; empty when nobody would.
	Fought string
}

// ChartFinding is what was found in a chart before an upgrade to it.
type ChartFinding struct {
	// Waiting says what is still waited for; empty once the chart has been read, or cannot be.
	Waiting string
	// Problem says why the upgrade would do harm, and what to do; empty when nothing is known to.
	Problem string
}
