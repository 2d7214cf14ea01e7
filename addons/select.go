package addons

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Latest is the word for the newest version; an absent version means the same.
const Latest = "latest"

// SelectVersion returns the exact version that a request (see InstallerAddon.Version) comes to: the newest one that is in
// the range, in the channel, and runs on this Kubernetes. An exact version need not be in the channel. An empty channel is no limit;
// an empty Kubernetes version is unknown and passes every check. Deprecated and withdrawn versions are out of the question, but for the
// one that the add-on is at; empty means that it is not there. The error says what is listed instead.
func SelectVersion(def *v1alpha1.AddonDefinition, request, channel, kubernetes, at string) (string, error) {
	return newPlatform(kubernetes).selectVersion(def, request, channel, at)
}

func (p platform) selectVersion(def *v1alpha1.AddonDefinition, request, channel, at string) (string, error) {
	if version := findVersion(def, request); version != nil {
		return version.Version, cmp.Or(p.check(version), retired(version, at))
	}
	within, err := p.parseRequest(def, request)
	if err != nil {
		return "", err
	}
	for i := range slices.Backward(def.Spec.Versions) {
		version := &def.Spec.Versions[i]
		if answers(version, within) && inAChannel(version, channel) && p.refusal(version, at) == nil {
			return version.Version, nil
		}
	}
	return "", p.noneSelected(def, request, channel, at)
}

// answers says whether a request can come to a version; an open one to each that is released.
func answers(version *v1alpha1.VersionDefinition, within *Range) bool {
	parsed := ParseVersion(version.Version)
	return within == nil && !parsed.Prerelease() || within != nil && within.Contains(parsed)
}

func inAChannel(version *v1alpha1.VersionDefinition, channel string) bool {
	return channel == "" || slices.Contains(version.Channels, channel)
}

// refusal says why an open request does not come to a version here.
func (p platform) refusal(version *v1alpha1.VersionDefinition, at string) error {
	err := p.check(version)
	if err == nil && version.Deprecated != "" && version.Version != at {
		err = deprecated(version)
	}
	return cmp.Or(err, retired(version, at))
}

// noneSelected says why a request comes to nothing.
func (p platform) noneSelected(def *v1alpha1.AddonDefinition, request, channel, at string) error {
	within, err := p.parseRequest(def, request)
	if err != nil {
		return err
	}
	open := slices.DeleteFunc(slices.Clone(def.Spec.Versions), func(v v1alpha1.VersionDefinition) bool { return !answers(&v, within) })
	listed := slices.DeleteFunc(slices.Clone(open), func(v v1alpha1.VersionDefinition) bool { return !inAChannel(&v, channel) })
	switch {
	case len(open) == 0:
		return noneOpen(def, request, within)
	case len(listed) == 0:
		return noneListed(def, request, channel, open)
	default:
		return fmt.Errorf("there is %s for this cluster: %w", none(def, request), p.refusal(&listed[len(listed)-1], at))
	}
}

// retired says why a version is not chosen for an add-on that is at another one, or at none. The versions on the way to a newer one may be
// deprecated, and the last of them too.
func retired(version *v1alpha1.VersionDefinition, at string) error {
	switch {
	case at == version.Version:
		return nil
	case version.Withdrawn != "":
		return withdrawn(version)
	case version.Deprecated != "" && at == "":
		return deprecated(version)
	default:
		return nil
	}
}

func withdrawn(version *v1alpha1.VersionDefinition) error {
	return fmt.Errorf("version %s is withdrawn: %s", version.Version, version.Withdrawn)
}

func deprecated(version *v1alpha1.VersionDefinition) error {
	return fmt.Errorf("version %s is deprecated: %s", version.Version, version.Deprecated)
}

func noneListed(def *v1alpha1.AddonDefinition, request, channel string, open []v1alpha1.VersionDefinition) error {
	channels := map[string]bool{}
	for i := range def.Spec.Versions {
		for _, name := range def.Spec.Versions[i].Channels {
			channels[name] = true
		}
	}
	if channels[channel] {
		return fmt.Errorf("channel %q has %s; change spec.channel, or name a version exactly, such as %s", channel, none(def, request), newestFirst(open))
	}
	there := "has no channels"
	if len(channels) > 0 {
		there = "has " + abridged(sortedKeys(channels))
	}
	return fmt.Errorf("there is no channel %q of %q, which %s; change spec.channel, or name a version exactly, such as %s", channel, def.Name, there, newestFirst(open))
}

func noneOpen(def *v1alpha1.AddonDefinition, request string, within *Range) error {
	switch {
	case within == nil:
		return fmt.Errorf("the catalogue has %s; name a pre-release exactly, such as %s", none(def, request), newestFirst(def.Spec.Versions))
	case !slices.ContainsFunc(def.Spec.Versions, isSemantic):
		return fmt.Errorf("the versions of %q are not semver, so no range such as %q contains them; name one exactly, such as %s",
			def.Name, request, newestFirst(def.Spec.Versions))
	default:
		return fmt.Errorf("the catalogue has %s; the nearest: %s", none(def, request), nearestVersions(def, request))
	}
}

func isSemantic(version v1alpha1.VersionDefinition) bool {
	return ParseVersion(version.Version).semantic != nil
}

// none says, as part of a sentence, which versions are missing.
func none(def *v1alpha1.AddonDefinition, request string) string {
	if request == "" || request == Latest {
		return fmt.Sprintf("no released version of %q", def.Name)
	}
	return fmt.Sprintf("no version of %q that matches %q", def.Name, request)
}

// parseRequest returns nil for a request of any version.
func (p platform) parseRequest(def *v1alpha1.AddonDefinition, request string) (*Range, error) {
	if request == "" || request == Latest {
		return nil, nil //nolint:nilnil // no range is a valid answer: any version will do
	}
	_, exactErr := semver.StrictNewVersion(strings.TrimPrefix(request, "v"))
	within, rangeErr := p.parseRange(request)
	if exactErr == nil || rangeErr != nil && !strings.ContainsAny(request, "<>=~^*| ") {
		return nil, fmt.Errorf("version %q of %q is not in the catalogue; the nearest: %s", request, def.Name, nearestVersions(def, request))
	}
	if rangeErr != nil {
		return nil, rangeErr
	}
	return &within, nil
}

func findVersion(def *v1alpha1.AddonDefinition, exact string) *v1alpha1.VersionDefinition {
	for i := range def.Spec.Versions {
		if listed := def.Spec.Versions[i].Version; listed == exact || strings.TrimPrefix(listed, "v") == strings.TrimPrefix(exact, "v") {
			return &def.Spec.Versions[i]
		}
	}
	return nil
}

// number is the first thing in a range that looks like a version.
var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)*`)

// nearestVersions lists the versions around a request, or the newest ones where it has no place in the order.
func nearestVersions(def *v1alpha1.AddonDefinition, request string) string {
	const shown = 4
	names := versionNames(def.Spec.Versions)
	at := ParseVersion(request)
	if at.semantic == nil && ParseVersion(names[len(names)-1]).semantic != nil {
		at = ParseVersion(number.FindString(request))
	}
	after, _ := slices.BinarySearchFunc(names, at, func(name string, v Version) int { return ParseVersion(name).Compare(v) })
	if at.String() == "" {
		after = len(names)
	}
	from := max(0, min(after-shown/2, len(names)-shown))
	return strings.Join(names[from:min(len(names), from+shown)], ", ")
}

// newestFirst names the newest few of ascending versions.
func newestFirst(versions []v1alpha1.VersionDefinition) string {
	names := versionNames(versions)
	slices.Reverse(names)
	return abridged(names)
}

func versionNames(versions []v1alpha1.VersionDefinition) []string {
	names := make([]string, 0, len(versions))
	for i := range versions {
		names = append(names, versions[i].Version)
	}
	return names
}
