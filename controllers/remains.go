package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// How to tell whose an object is.
const (
	labelFluxName      = "helm.toolkit.fluxcd.io/name" // Flux labels what a chart makes with its HelmRelease
	labelFluxNamespace = "helm.toolkit.fluxcd.io/namespace"
	labelHelmOwner     = "owner" // on Helm's own records, beside the name of the release
	annotationPolicy   = "helm.sh/resource-policy"
)

// instanceLabels are what charts put the name of the release into. Volume claims of StatefulSets have them, and nothing of Flux.
var instanceLabels = []string{labelFluxName, "app.kubernetes.io/instance", "release"}

var (
	secrets = kind{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("secrets"), namespaced: true}
	claims  = kind{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), namespaced: true}
	volumes = schema.GroupResource{Resource: "persistentvolumes"}
	crds    = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
)

// search is the search for what is left of an add-on.
type search struct {
	departure

	census  *Census
	now     time.Time
	traces  addons.Traces
	awaited []string
}

// search looks for what is left of an add-on's releases. What it returns as awaited is still being deleted.
func (r *AddonReconciler) search(ctx context.Context, d departure) (traces addons.Traces, awaited []string, err error) {
	s := search{departure: d, census: r.Census, now: r.Clock.Now()}
	s.traces.Releases = slices.Clone(d.releases)
	if err := s.lookForObjects(ctx); err != nil {
		return s.traces, nil, err
	}
	s.traces.Releases = slices.DeleteFunc(s.traces.Releases, func(t addons.Trace) bool { return d.rumoured[t.Name] && len(t.Objects) == 0 })
	for i := range s.traces.Releases {
		if err := s.lookForStorage(ctx, &s.traces.Releases[i]); err != nil {
			return s.traces, nil, err
		}
	}
	for _, space := range d.spaces {
		if err := s.lookForClaims(ctx, space); err != nil {
			return s.traces, nil, err
		}
	}
	return s.traces, s.awaited, s.lookForVolumes(ctx, r)
}

// lookForObjects finds what the charts made.
func (s *search) lookForObjects(ctx context.Context) error {
	if len(s.traces.Releases) == 0 {
		return nil
	}
	names := make([]string, 0, len(s.traces.Releases))
	for _, trace := range s.traces.Releases {
		names = append(names, trace.Name)
	}
	anyName, err := labels.NewRequirement(labelFluxName, selection.In, names)
	if err != nil {
		return fmt.Errorf("selecting the objects of releases: %w", err)
	}
	found, err := s.census.everything(ctx, labels.SelectorFromSet(labels.Set{labelFluxNamespace: v1alpha1.Namespace}).Add(*anyName).String())
	if err != nil {
		return err
	}
	for _, unseen := range found.unseen {
		s.blind(&unseen)
	}
	there := byUID(found.objects)
	for _, o := range found.objects {
		if o.kind.Group != sourcev1.GroupVersion.Group && !ownedBy(o, there) { // Flux's own, and what comes and goes with its owner
			s.judge(o)
		}
	}
	return nil
}

func byUID(objects []object) map[types.UID]object {
	there := map[types.UID]object{}
	for _, o := range objects {
		there[o.UID] = o
	}
	return there
}

func ownedBy(o object, owners map[types.UID]object) bool {
	return slices.ContainsFunc(o.OwnerReferences, func(owner metav1.OwnerReference) bool { _, known := owners[owner.UID]; return known })
}

// judge says what it means that an object of one of the releases is there.
func (s *search) judge(o object) {
	at := slices.IndexFunc(s.traces.Releases, func(t addons.Trace) bool { return t.Name == o.Labels[labelFluxName] })
	switch {
	case s.await(o):
	case at < 0 || o.kind.GroupResource() == crds || o.kind.GroupVersionResource == claims.GroupVersionResource || o.Annotations[annotationPolicy] == "keep":
		s.traces.Kept = append(s.traces.Kept, o.path())
	default:
		trace := &s.traces.Releases[at]
		trace.Objects = append(trace.Objects, o.path())
		if o.terminating() {
			trace.Stuck = append(trace.Stuck, held(o))
		}
	}
}

// await waits for what is being deleted, and for what Kubernetes will delete since its owner has gone, though not for ever.
func (s *search) await(o object) bool {
	since := s.since
	switch {
	case o.terminating() && o.DeletionTimestamp.After(since):
		since = o.DeletionTimestamp.Time
	case !o.terminating() && len(o.OwnerReferences) == 0:
		return false
	}
	if s.now.Sub(since) >= patience {
		return false
	}
	s.awaited = append(s.awaited, held(o))
	return true
}

// held names an object that is being deleted, and who holds it.
func held(o object) string {
	if len(o.Finalizers) == 0 {
		return o.path()
	}
	return fmt.Sprintf("%s (held by %s)", o.path(), strings.Join(o.Finalizers, ", "))
}

// lookForStorage finds Helm's own records of a release.
func (s *search) lookForStorage(ctx context.Context, trace *addons.Trace) error {
	selector := labels.SelectorFromSet(labels.Set{labelHelmOwner: "helm", "name": trace.Name}).String()
	records, unseen, err := s.census.list(ctx, secrets, trace.Namespace, selector)
	if err != nil {
		return err
	}
	s.blind(unseen)
	for _, record := range records {
		trace.Storage = append(trace.Storage, record.path())
	}
	return nil
}

// lookForClaims finds the volume claims of StatefulSets, which no uninstall takes away. Where others share the namespace, only those
// that name the release count.
func (s *search) lookForClaims(ctx context.Context, in space) error {
	found, unseen, err := s.census.list(ctx, claims, in.name, "")
	if err != nil {
		return err
	}
	s.blind(unseen)
	for _, claim := range found {
		_, seen := claim.Labels[labelFluxNamespace] // and judged
		whose := s.whose(claim)
		if !seen && (whose == mine || whose == nobodys && in.exclusive()) && !s.await(claim) {
			s.traces.Kept = append(s.traces.Kept, claim.path())
		}
	}
	return nil
}

// ownership says whose a volume claim is.
type ownership int

const (
	nobodys ownership = iota
	mine
	foreign
)

func (s *search) whose(claim object) ownership {
	for _, label := range instanceLabels {
		name := claim.Labels[label]
		switch {
		case name == "":
		case slices.ContainsFunc(s.traces.Releases, func(t addons.Trace) bool { return t.Name == name }):
			return mine
		default:
			return foreign
		}
	}
	return nobodys
}

// lookForVolumes finds volumes whose claims have gone, in namespaces that were the add-on's alone: they tell nothing else of where they
// come from.
func (s *search) lookForVolumes(ctx context.Context, r *AddonReconciler) error {
	alone := map[string]bool{}
	for _, space := range s.spaces {
		alone[space.name] = space.exclusive()
	}
	if len(alone) == 0 {
		return nil
	}
	var list corev1.PersistentVolumeList
	switch err := r.Live.List(ctx, &list); {
	case apierrors.IsForbidden(err):
		s.blind(&addons.Unseen{Resource: volumes.String(), Forbidden: true})
	case err != nil:
		return fmt.Errorf("listing PersistentVolumes: %w", err)
	}
	for i := range list.Items {
		volume := &list.Items[i]
		if claim := volume.Spec.ClaimRef; claim != nil && alone[claim.Namespace] && volume.Status.Phase == corev1.VolumeReleased {
			s.traces.Kept = append(s.traces.Kept, volumes.Resource+"/"+volume.Name)
		}
	}
	return nil
}

// blind remembers a kind that could not be listed, once.
func (s *search) blind(unseen *addons.Unseen) {
	if unseen != nil && !slices.ContainsFunc(s.traces.Unseen, func(u addons.Unseen) bool { return u.Resource == unseen.Resource }) {
		s.traces.Unseen = append(s.traces.Unseen, *unseen)
	}
}
