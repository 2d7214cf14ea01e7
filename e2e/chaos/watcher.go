package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
	"github.com/kurlsh/addon-operator/e2e/cluster"
)

const (
	operatorUser      = "system:serviceaccount:" + v1alpha1.Namespace + ":" + v1alpha1.FieldManager
	helmReleases      = "helmreleases.helm.toolkit.fluxcd.io"
	statusDeployed    = "deployed"
	judgementDelay    = 3 * time.Second // until all watches and the audit log have caught up
	judgementInterval = time.Second
)

// watcher sees, past the proxy, every state of the objects that the invariants speak of, and holds each change against the rules.
type watcher struct {
	api     client.WithWatch
	cluster *cluster.Cluster
	world   map[string]member
	diary   *diary
	passed  *passage
	tally   *tally
	journal *journal

	releases   timeline[release]
	addons     timeline[addon]
	installers timeline[installer]
	receipts   map[string]bool // seen already

	mu       sync.Mutex
	pending  []change // that no rule has seen yet
	deletes  []cluster.Request
	position int64 // in the audit log
}

// release is what the rules need of a HelmRelease.
type release struct {
	uid                 string
	addon               string
	asked               string // chart version
	deployed            []string
	dependsOn           string // names, each with a comma behind it
	suspended, deleting bool
	fluxHolds           bool
}

type addon struct {
	installer string
	presence  v1alpha1.Presence
}

type installer struct {
	listed              []string
	deleting, confirmed bool
}

// change is a step from one state of an object to the next. Of the two pairs only one is set.
type change struct {
	name                        string
	releaseBefore, releaseAfter *state[release]
	addonBefore, addonAfter     *state[addon]
	when                        moment
}

// watch follows the kinds until the context ends.
func (w *watcher) watch(ctx context.Context) error {
	begin := []func() error{
		func() error {
			return follow(ctx, w.api, &helmv2.HelmReleaseList{}, w.noteRelease, client.InNamespace(v1alpha1.Namespace))
		},
		func() error { return follow(ctx, w.api, &v1alpha1.AddonList{}, w.noteAddon) },
		func() error { return follow(ctx, w.api, &v1alpha1.InstallerList{}, w.noteInstaller) },
	}
	return together(append(begin, func() error { return w.judgeSteadily(ctx) })...)
}

// follow delivers every state of the objects of a kind, from now on, in order, until the context ends.
func follow[T client.Object](ctx context.Context, api client.WithWatch, list client.ObjectList, note func(bool, T), options ...client.ListOption) error {
	revision := ""
	for {
		from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: revision, AllowWatchBookmarks: true}}
		watching, err := api.Watch(ctx, list, append(slices.Clone(options), from)...)
		if err == nil {
			revision, err = deliver(watching, revision, note)
		}
		if errors.Is(context.Cause(ctx), context.Canceled) {
			return nil // the watch was to end
		}
		if err != nil {
			return fmt.Errorf("watch %T: %w", list, err)
		}
	}
}

// deliver returns the last revision that a watch has come to.
func deliver[T client.Object](watching watch.Interface, revision string, note func(bool, T)) (string, error) {
	for event := range watching.ResultChan() {
		object, ok := event.Object.(T)
		if !ok {
			return revision, fmt.Errorf("%s %v", event.Type, event.Object)
		}
		revision = object.GetResourceVersion()
		if event.Type != watch.Bookmark {
			note(event.Type == watch.Deleted, object)
		}
	}
	return revision, nil
}

func momentOf(object client.Object) moment {
	revision, _ := strconv.ParseInt(object.GetResourceVersion(), 10, 64) // what kube-apiserver writes there is a number
	return moment{revision: revision, at: time.Now()}
}

func (w *watcher) noteRelease(gone bool, hr *helmv2.HelmRelease) {
	is := release{
		uid: string(hr.UID), addon: hr.Labels[v1alpha1.LabelAddon], suspended: hr.Spec.Suspend, deleting: hr.DeletionTimestamp != nil,
		fluxHolds: slices.Contains(hr.Finalizers, helmv2.HelmReleaseFinalizer),
	}
	if hr.Spec.Chart != nil {
		is.asked = hr.Spec.Chart.Spec.Version
	}
	for _, dependency := range hr.Spec.DependsOn {
		is.dependsOn += dependency.Name + ","
	}
	history := slices.DeleteFunc(slices.Clone(hr.Status.History), func(s *helmv2.Snapshot) bool { return s == nil })
	slices.SortFunc(history, func(a, b *helmv2.Snapshot) int { return a.Version - b.Version })
	for _, snapshot := range history {
		if snapshot.Status == statusDeployed || snapshot.Status == "superseded" {
			is.deployed = append(is.deployed, snapshot.ChartVersion)
		}
	}
	after := state[release]{moment: momentOf(hr), gone: gone, is: is}
	before, isNew := w.releases.add(hr.Name, after)
	if isNew {
		w.journal.write("HelmRelease %s: %s", hr.Name, describeRelease(before, after))
		w.remember(change{name: hr.Name, releaseBefore: &before, releaseAfter: &after, when: after.moment})
	}
}

func describeRelease(before, after state[release]) string {
	if after.gone {
		return "gone"
	}
	var parts []string
	if before.gone {
		parts = append(parts, "new")
	}
	parts = append(parts, "asks for "+after.is.asked)
	if len(after.is.deployed) > 0 {
		parts = append(parts, "deployed "+strings.Join(after.is.deployed, " "))
	}
	for word, holds := range map[string]bool{"suspended": after.is.suspended, "deleting": after.is.deleting, "uninstalled": after.is.deleting && !after.is.fluxHolds} {
		if holds {
			parts = append(parts, word)
		}
	}
	return strings.Join(parts, ", ")
}

func (w *watcher) noteAddon(gone bool, object *v1alpha1.Addon) {
	after := state[addon]{moment: momentOf(object), gone: gone, is: addon{installer: object.Spec.Installer, presence: object.Spec.State}}
	before, isNew := w.addons.add(object.Name, after)
	if !isNew {
		return
	}
	if gone {
		w.journal.write("Addon %s: gone", object.Name)
		return
	}
	w.journal.write("Addon %s: %s %s", object.Name, object.Spec.State, object.Spec.Version)
	w.remember(change{name: object.Name, addonBefore: &before, addonAfter: &after, when: after.moment})
}

func (w *watcher) noteInstaller(gone bool, object *v1alpha1.Installer) {
	is := installer{deleting: object.DeletionTimestamp != nil, confirmed: object.Annotations[v1alpha1.AnnotationConfirmDelete] == object.Name}
	for _, entry := range object.Spec.Addons {
		is.listed = append(is.listed, entry.Name)
	}
	if _, isNew := w.installers.add(object.Name, state[installer]{moment: momentOf(object), gone: gone, is: is}); isNew {
		w.journal.write("Installer: lists %v, deleting %t, gone %t", is.listed, is.deleting, gone)
	}
	for _, receipt := range object.Status.Removed {
		if removal := fmt.Sprint(receipt.UID, "/", receipt.Generation); !w.receipts[removal] {
			w.receipts[removal] = true
			if receipt.Result == v1alpha1.OutcomeOrphaned {
				w.diary.leave(receipt.LeftBehind)
			}
			w.journal.write("receipt: %s %s, %s", receipt.Name, receipt.Result, receipt.Message)
			w.tally.count(talliedSeen, "receipts "+string(receipt.Result))
		}
	}
}

func (w *watcher) remember(c change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, c)
}
