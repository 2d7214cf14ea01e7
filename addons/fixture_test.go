package addons

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// edit changes a definition that define makes.
type edit = func(*v1alpha1.AddonDefinition)

// define makes a valid definition. Unless edits say otherwise, it has one release of its own name and the version 1.0.0; chart
// versions equal the add-on's.
func define(name string, edits ...edit) v1alpha1.AddonDefinition {
	def := v1alpha1.AddonDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, apply := range edits {
		apply(&def)
	}
	if len(def.Spec.Releases) == 0 {
		releases(name)(&def)
	}
	if len(def.Spec.Versions) == 0 {
		versions("1.0.0")(&def)
	}
	for i := range def.Spec.Versions {
		version := &def.Spec.Versions[i]
		if version.Releases != nil {
			continue
		}
		version.Releases = map[string]v1alpha1.ReleaseVersion{}
		for _, release := range def.Spec.Releases {
			version.Releases[release.Name] = v1alpha1.ReleaseVersion{ChartVersion: version.Version}
		}
	}
	return def
}

func versions(names ...string) edit {
	return func(def *v1alpha1.AddonDefinition) {
		for _, name := range names {
			def.Spec.Versions = append(def.Spec.Versions, v1alpha1.VersionDefinition{Version: name})
		}
	}
}

// at edits a version that was given before.
func at(name string, apply func(*v1alpha1.VersionDefinition)) edit {
	return func(def *v1alpha1.AddonDefinition) { apply(findVersion(def, name)) }
}

func onKubernetes(name, within string) edit {
	return at(name, func(v *v1alpha1.VersionDefinition) { v.Kubernetes = within })
}

// noted marks a version as deprecated or withdrawn.
func noted(version, deprecated, withdrawn string) func(*v1alpha1.AddonDefinition) {
	return func(def *v1alpha1.AddonDefinition) {
		at := findVersion(def, version)
		at.Deprecated, at.Withdrawn = deprecated, withdrawn
	}
}

func upgradeFrom(name, within string) edit {
	return at(name, func(v *v1alpha1.VersionDefinition) { v.UpgradeFrom = within })
}

// charted sets the chart version of each release at a version.
func charted(name string, charts map[string]string) edit {
	return at(name, func(v *v1alpha1.VersionDefinition) {
		v.Releases = map[string]v1alpha1.ReleaseVersion{}
		for release, version := range charts {
			v.Releases[release] = v1alpha1.ReleaseVersion{ChartVersion: version}
		}
	})
}

func inChannel(channel string, names ...string) edit {
	return func(def *v1alpha1.AddonDefinition) {
		for _, name := range names {
			version := findVersion(def, name)
			version.Channels = append(version.Channels, channel)
		}
	}
}

func releases(names ...string) edit {
	return func(def *v1alpha1.AddonDefinition) {
		for _, name := range names {
			def.Spec.Releases = append(def.Spec.Releases, v1alpha1.ReleaseDefinition{
				Name: name, Namespace: def.Name, Chart: v1alpha1.ChartReference{Repository: "https://charts.example.com", Name: name},
			})
		}
	}
}

func needs(requirements ...v1alpha1.Requirement) edit {
	return func(def *v1alpha1.AddonDefinition) { def.Spec.Requires = append(def.Spec.Requires, requirements...) }
}

func requires(names ...string) edit {
	return func(def *v1alpha1.AddonDefinition) {
		for _, name := range names {
			needs(v1alpha1.Requirement{Addon: name})(def)
		}
	}
}

func conflicts(with, message string) edit {
	return func(def *v1alpha1.AddonDefinition) {
		def.Spec.Conflicts = append(def.Spec.Conflicts, v1alpha1.Conflict{Addon: with, Message: message})
	}
}

func provides(capabilities ...string) edit {
	return func(def *v1alpha1.AddonDefinition) { def.Spec.Provides = capabilities }
}

func rawJSON(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

// want lists add-ons for an Installer: a name, or a name and a version after "@".
func want(entries ...string) []v1alpha1.InstallerAddon {
	var list []v1alpha1.InstallerAddon
	for _, entry := range entries {
		name, version := splitAt(entry)
		list = append(list, v1alpha1.InstallerAddon{Name: name, Version: version})
	}
	return list
}

func splitAt(entry string) (name, version string) {
	for i := range entry {
		if entry[i] == '@' {
			return entry[:i], entry[i+1:]
		}
	}
	return entry, ""
}

// installer of a name and an age in hours.
func installer(name string, age int, entries ...string) *v1alpha1.Installer {
	created := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(-time.Duration(age) * time.Hour)
	return &v1alpha1.Installer{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(created)},
		Spec:       v1alpha1.InstallerSpec{Addons: want(entries...)},
	}
}

// present is an Addon that an Installer has made.
func present(owner, entry string) *v1alpha1.Addon {
	name, version := splitAt(entry)
	return &v1alpha1.Addon{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.AddonSpec{Installer: owner, Version: version, State: v1alpha1.Present},
	}
}

func absent(owner, entry string) *v1alpha1.Addon {
	addon := present(owner, entry)
	addon.Spec.State = v1alpha1.Absent
	return addon
}

func catalogOf(definitions ...v1alpha1.AddonDefinition) Catalog { return NewCatalog(definitions, nil) }

var update = flag.Bool("update", false, "write the golden files anew")

// requireGolden compares text with a file in testdata.
func requireGolden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err, "run the tests with -update")
	require.Equal(t, string(golden), text, "run the tests with -update if the change is meant")
}
