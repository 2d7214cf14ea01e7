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
	open := slices.DeleteFunc(slices.Clone(def.Spec.Versions), func(v v1alpha1.VersionDefinition) bool {
		return within == nil && ParseVersion(v.Version).Prerelease() || within != nil && !within.Contains(ParseVersion(v.Version))
	})
	if len(open) == 0 {
		return "", noneOpen(def, request, within)
	}
	listed := slices.DeleteFunc(slices.Clone(open), func(v v1alpha1.VersionDefinition) bool {
		return channel != "" && !slices.Contains(v.Channels, channel)
	})
	if len(listed) == 0 {
		return "", noneListed(def, request, channel, open)
	}
	return p.newest(def, request, listed, at)
}

// newest finds the newest of some versions that may be run here.
func (p platform) newest(def *v1alpha1.AddonDefinition, request string, listed []v1alpha1.VersionDefinition, at string) (string, error) {
	var why error
	for i := range slices.Backward(listed) {
		version := &listed[i]
		err := p.check(version)
		if err == nil && version.Deprecated != "" && version.Version != at {
			err = deprecated(version)
		}
		if err = cmp.Or(err, retired(version, at)); err == nil {
			return version.Version, nil
		}
		why = cmp.Or(why, err)
	}
	return "", fmt.Errorf("there is %s for this cluster: %w", none(def, request), why)
}

// retired says why a version is not chosen for an add-on that is at another one, or at none. The versions on the way to a newer one may be
// deprecated, and the last of them too.
func retired(version *v1alpha1.VersionDefinition, at string) error {
	switch {
	case at == version.Version:
		return nil
	case version.Withdrawn != "":
		return fmt.Errorf("version %s is withdrawn: %s", version.Version, version.Withdrawn)
	case version.Deprecated != "" && at == "":
		return deprecated(version)
	default:
		return nil
	}
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
