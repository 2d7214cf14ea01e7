package addons

import (
	"fmt"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Retired says that an add-on runs a version that it should not.
type Retired struct {
	// Withdrawn says that it must not be used any more; otherwise it is deprecated.
	Withdrawn bool
	// Message says why, and what to do.
	Message string
}

// runsRetired says whether the version that runs is deprecated or withdrawn, and which one there is to go to.
func runsRetired(o Observation, running string) *Retired {
	if o.Definition == nil {
		return nil
	}
	version := findVersion(o.Definition, running)
	switch {
	case version == nil || version.Withdrawn == "" && version.Deprecated == "":
		return nil
	case version.Withdrawn != "":
		return &Retired{Withdrawn: true, Message: fmt.Sprintf("version %s, which runs, is withdrawn: %s%s", version.Version, version.Withdrawn, successor(o, running))}
	default:
		return &Retired{Message: fmt.Sprintf("version %s, which runs, is deprecated: %s%s", version.Version, version.Deprecated, successor(o, running))}
	}
}

// successor names the newest version that an add-on could go to.
func successor(o Observation, running string) string {
	newest := walker{def: o.Definition, hops: newHops(o.Definition), limits: newLimits(limitsOf(o))}
	to := newest.furthest(running, func(version *v1alpha1.VersionDefinition) bool {
		return newest.fits(version) && !ParseVersion(version.Version).Prerelease()
	})
	if to == running {
		return ""
	}
	return fmt.Sprintf("; an upgrade to %s is possible", to)
}

// good describes what runs, settled and healthy.
func good(o Observation, version string) *v1alpha1.LastGood {
	var digests []any
	for _, name := range sortedKeys(o.Releases) {
		digests = append(digests, name, o.Releases[name].ValuesDigest)
	}
	return &v1alpha1.LastGood{Version: version, ValuesDigest: digestOf(digests...)}
}
