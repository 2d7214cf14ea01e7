package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

// stepwise is the chart with the versions 1.4.0 to 1.8.0.
const stepwise = "minors"

// minors are versions of the chart of that name, from 1.4.0 on.
func minors(last int) trait {
	var names []string
	for minor := 4; minor <= last; minor++ {
		names = append(names, fmt.Sprintf("1.%d.0", minor))
	}
	return versions(names...)
}

// held lets an upgrade to a version stop halfway, in the hook of the chart minors.
func held(version string) trait {
	return atVersion(version, func(v *v1alpha1.VersionDefinition) {
		for name, release := range v.Releases {
			release.Values = values(`{hold: true}`)
			v.Releases[name] = release
		}
	})
}

// atVersion changes one version of a definition.
func atVersion(version string, change func(*v1alpha1.VersionDefinition)) trait {
	return func(def *v1alpha1.AddonDefinition) {
		for i := range def.Spec.Versions {
			if def.Spec.Versions[i].Version == version {
				change(&def.Spec.Versions[i])
			}
		}
	}
}

// revise edits a definition that is in the catalogue.
func (s *story) revise(name string, traits ...trait) {
	s.t.Helper()
	def := &v1alpha1.AddonDefinition{}
	s.get(s.t, name, def)
	for _, apply := range traits {
		apply(def)
	}
	require.NoError(s.t, s.api.Update(s.t.Context(), def))
}

// recordAddon watches an Addon from now to the story's end. It records "gate NAME passed at VERSION" or "gate NAME closed at VERSION" for
// each Upgrade gate that was evaluated while a version ran, and "path VERSIONS" for each path that people could see.
func (s *story) recordAddon(name string) *recording {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	watcher, err := s.api.Watch(ctx, &v1alpha1.AddonList{}, client.MatchingFields{metav1.ObjectNameField: name})
	require.NoError(s.t, err)
	r := &recording{}
	go func() {
		for event := range watcher.ResultChan() {
			if addon, ok := event.Object.(*v1alpha1.Addon); ok {
				r.noteStatus(&addon.Status)
			}
		}
	}()
	return r
}

func (r *recording) noteStatus(status *v1alpha1.AddonStatus) {
	for _, gate := range status.Gates {
		verdict := "closed"
		if gate.Passed {
			verdict = "passed"
		}
		if gate.When == v1alpha1.MomentUpgrade {
			r.add(fmt.Sprintf("gate %s %s at %s", gate.Name, verdict, status.Version))
		}
	}
	if len(status.Path) > 0 {
		r.add("path " + strings.Join(status.Path, " "))
	}
}

// helmRecord is what Helm itself has written down about a revision.
type helmRecord struct {
	Version int
	Info    struct {
		Status       string
		LastDeployed time.Time `json:"last_deployed"` // when the upgrade began
	}
	Chart struct{ Metadata struct{ Version string } }
}

// helmRecords are Helm's records of a release in the story's namespace, by revision.
func (s *story) helmRecords(release string) map[int]helmRecord {
	s.t.Helper()
	records := map[int]helmRecord{}
	for _, secret := range s.helmStorage(release) {
		packed, err := base64.StdEncoding.DecodeString(string(secret.Data["release"]))
		require.NoError(s.t, err)
		unpacked, err := gzip.NewReader(bytes.NewReader(packed))
		require.NoError(s.t, err)
		var record helmRecord
		require.NoError(s.t, json.NewDecoder(unpacked).Decode(&record))
		records[record.Version] = record
	}
	return records
}

// requireRevisions checks that Helm has made these chart versions of a release, one revision each, one after the other, and no others.
func (s *story) requireRevisions(release string, versions ...string) {
	s.t.Helper()
	records := s.helmRecords(release)
	require.Len(s.t, records, len(versions), release)
	for i, version := range versions {
		record, status := records[i+1], "superseded"
		if i == len(versions)-1 {
			status = "deployed"
		}
		require.Equal(s.t, []string{version, status}, []string{record.Chart.Metadata.Version, record.Info.Status}, "revision %d of %s", i+1, release)
		if before, known := records[i]; known {
			require.True(s.t, record.Info.LastDeployed.After(before.Info.LastDeployed), "%s came to %s before %s", release, version, before.Chart.Metadata.Version)
		}
	}
}

// done is when Helm had finished a revision, as the API server saw it: its last word on that revision before the next one.
func (s *story) done(requests []cluster.Request, release string, revision int) time.Time {
	s.t.Helper()
	record := func(revision int) func(cluster.Request) bool {
		name := fmt.Sprintf("sh.helm.release.v1.%s.v%d", release, revision)
		return func(r cluster.Request) bool { return r.Write() && r.Resource == "secrets" && r.Name == name }
	}
	next := matching(requests, record(revision+1))
	words := matching(requests, func(r cluster.Request) bool {
		return record(revision)(r) && (len(next) == 0 || r.Received.Before(next[0].Received))
	})
	require.NotEmpty(s.t, words, "revision %d of %s", revision, release)
	return words[len(words)-1].Received
}

// writes are the requests by which the operator wrote a HelmRelease.
func writes(requests []cluster.Request, release string) []cluster.Request {
	return matching(requests, func(r cluster.Request) bool {
		return byOperator(r) && r.Write() && r.Resource == "helmreleases."+helmv2.GroupVersion.Group && r.Name == release
	})
}

func byOperator(r cluster.Request) bool { return strings.HasSuffix(r.User, ":"+v1alpha1.FieldManager) }
