package addons

import (
	"fmt"

	"github.com/Masterminds/semver/v3"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// platform is the Kubernetes that versions are to run on. It lasts for one question, and parses each range once: a catalogue
// repeats few of them a thousand times.
type platform struct {
	kubernetes Version // zero when unknown
	ranges     map[string]Range
}

// newPlatform drops suffixes of the cluster's version, such as -gke.100: they are builds, not pre-releases.
func newPlatform(kubernetes string) platform {
	p := platform{ranges: map[string]Range{}}
	if cluster := ParseVersion(kubernetes); cluster.semantic != nil {
		core := semver.New(cluster.semantic.Major(), cluster.semantic.Minor(), cluster.semantic.Patch(), "", "")
		p.kubernetes = Version{raw: core.String(), semantic: core}
	}
	return p
}

// check says why a version does not run here; an unknown Kubernetes passes.
func (p platform) check(version *v1alpha1.VersionDefinition) error {
	if version.Kubernetes == "" || p.kubernetes.semantic == nil {
		return nil
	}
	within, err := p.parseRange(version.Kubernetes)
	if err != nil {
		return err
	}
	if !within.Contains(p.kubernetes) {
		return fmt.Errorf("version %s needs Kubernetes %s, and this cluster runs %s", version.Version, version.Kubernetes, p.kubernetes)
	}
	return nil
}

// tooOld says, of a version that does not run here, whether it does on one of the next versions of Kubernetes.
func (p platform) tooOld(version *v1alpha1.VersionDefinition) bool {
	const minors = 50
	within, err := p.parseRange(version.Kubernetes)
	for ahead := range uint64(minors) {
		next := semver.New(p.kubernetes.semantic.Major(), p.kubernetes.semantic.Minor()+ahead+1, 0, "", "")
		if err == nil && within.Contains(Version{raw: next.String(), semantic: next}) {
			return true
		}
	}
	return false
}

// allows says whether a version is in a range.
func (p platform) allows(within, version string) bool {
	parsed, err := p.parseRange(within)
	return err == nil && parsed.Contains(ParseVersion(version))
}

func (p platform) parseRange(raw string) (Range, error) {
	if known, ok := p.ranges[raw]; ok {
		return known, nil
	}
	parsed, err := ParseRange(raw)
	if err == nil {
		p.ranges[raw] = parsed
	}
	return parsed, err
}
