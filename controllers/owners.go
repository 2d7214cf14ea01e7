package controllers

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

// Owners finds out whether somebody else has a Helm release of a name that an add-on wants.
type Owners struct {
	// Live reads from the API server itself: it is asked just before a release is installed.
	Live   client.Reader
	Census *Census
	Clock  clock.PassiveClock

	mu        sync.Mutex
	inventory map[string]inventory // by the Helm release's record
	rivals    *headcount
}

// headcount is what is known of the HelmReleases of all namespaces, shared for some seconds by all add-ons that are installed.
type headcount struct {
	at    time.Time
	all   []helmv2.HelmRelease
	blind bool // to all namespaces but ours
}

// Find looks for a Helm release of the release's name in its namespace, and for HelmReleases that manage it or have the name that ours
// would have. It changes nothing, and fails only if the API server does.
func (o *Owners) Find(ctx context.Context, release addons.Release) (addons.OwnerFinding, error) {
	record, err := o.newestRecord(ctx, release)
	if err != nil {
		return addons.OwnerFinding{}, err
	}
	namesake, err := o.namesake(ctx, release)
	if err != nil {
		return addons.OwnerFinding{}, err
	}
	known, err := o.helmReleases(ctx)
	if err != nil {
		return addons.OwnerFinding{}, err
	}
	rivals := rivalsOf(known.all, release)
	if namesake != nil && addonOf(namesake) == release.Addon || namesake == nil && record == nil && len(rivals) == 0 {
		return addons.OwnerFinding{}, nil
	}
	var stock inventory
	if record != nil {
		if stock, err = o.takeStock(ctx, record, release); err != nil {
			return addons.OwnerFinding{}, err
		}
	}
	if known.blind && len(rivals) == 0 {
		rivals = stock.unseenRivals()
	}
	if namesake == nil && len(rivals) == 0 && stock.madeBy(release) {
		return addons.OwnerFinding{}, nil // it was our own, whose HelmRelease somebody deleted
	}
	return addons.OwnerFinding{Taken: taken(release, namesake, record, rivals, stock), Fought: fought(release, namesake, rivals)}, nil
}

// newestRecord is the metadata of the Secret in which Helm keeps the newest revision of the release; nil if there is none, or if Helm
// says that it was uninstalled.
func (o *Owners) newestRecord(ctx context.Context, release addons.Release) (*metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := o.Live.List(ctx, list, client.InNamespace(release.Namespace), client.MatchingLabels{"owner": "helm", "name": release.Name}); err != nil {
		return nil, fmt.Errorf("looking for a Helm release %s in namespace %s: %w", release.Name, release.Namespace, err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	newest := slices.MaxFunc(list.Items, func(a, b metav1.PartialObjectMetadata) int { return cmp.Compare(revision(&a), revision(&b)) })
	if newest.Labels["status"] == "uninstalled" {
		return nil, nil
	}
	return &newest, nil
}

func revision(record *metav1.PartialObjectMetadata) int {
	number, _ := strconv.Atoi(record.Labels["version"]) // Helm always writes a number
	return number
}

// namesake is the HelmRelease in the place that ours would have; nil if there is none.
func (o *Owners) namesake(ctx context.Context, release addons.Release) (*helmv2.HelmRelease, error) {
	hr := &helmv2.HelmRelease{}
	if err := o.Live.Get(ctx, client.ObjectKey{Namespace: v1alpha1.Namespace, Name: release.Name}, hr); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("looking for HelmRelease %s: %w", release.Name, err)
	}
	return found(hr), nil
}

// helmReleases lists the HelmReleases of all namespaces, or of ours alone if it is blind to others.
func (o *Owners) helmReleases(ctx context.Context) (*headcount, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rivals != nil && o.Clock.Since(o.rivals.at) < sharedFor {
		return o.rivals, nil
	}
	now := &headcount{at: o.Clock.Now()}
	var list helmv2.HelmReleaseList
	err := o.Live.List(ctx, &list)
	if now.blind = apierrors.IsForbidden(err); now.blind {
		err = o.Live.List(ctx, &list, client.InNamespace(v1alpha1.Namespace))
	}
	if err != nil {
		return nil, fmt.Errorf("looking for HelmReleases: %w", err)
	}
	now.all, o.rivals = list.Items, now
	return now, nil
}

// rivalsOf finds the other HelmReleases that manage the same Helm release, on this cluster.
func rivalsOf(all []helmv2.HelmRelease, release addons.Release) []rival {
	var rivals []rival
	for i := range all {
		hr := &all[i]
		here := hr.Namespace == v1alpha1.Namespace && hr.Name == release.Name || hr.Spec.KubeConfig != nil
		if !here && hr.GetReleaseName() == release.Name && (hr.GetReleaseNamespace() == release.Namespace || hr.GetStorageNamespace() == release.Namespace) {
			rivals = append(rivals, rival{namespace: hr.Namespace, name: hr.Name, leaving: hr.DeletionTimestamp != nil})
		}
	}
	return rivals
}

// rival is another HelmRelease that manages the release.
type rival struct {
	namespace, name string
	leaving, unseen bool
}

func (r rival) String() string { return r.namespace + "/" + r.name }

// taken describes what is there and what becomes of it; empty when there is nothing that could be taken over.
func taken(release addons.Release, namesake *helmv2.HelmRelease, record *metav1.PartialObjectMetadata, rivals []rival, stock inventory) string {
	var there []string
	if record != nil {
		text := fmt.Sprintf("Helm release %s/%s is there already: revision %d, %s", release.Namespace, release.Name, revision(record), record.Labels["status"])
		if at, err := strconv.ParseInt(record.Labels["modifiedAt"], 10, 64); err == nil {
			text += " since " + time.Unix(at, 0).UTC().Format(time.RFC3339)
		}
		there = append(there, fmt.Sprintf("%s, managed by %s; it consists of %s", text, manager(namesake, rivals, stock), stock))
	}
	if namesake != nil {
		there = append(there, fmt.Sprintf("HelmRelease %s/%s is there already, and was not made by this operator", namesake.Namespace, namesake.Name))
	}
	if len(there) == 0 {
		return ""
	}
	next := "install"
	if record != nil {
		next = "upgrade"
	}
	plan := fmt.Sprintf("taken over, Flux would %s it to chart %s %s with the values of add-on %s", next, release.Chart, release.ChartVersion, release.Addon)
	if record != nil {
		plan += fmt.Sprintf(", as revision %d: nothing is uninstalled, but what that chart does not make of these values is deleted", revision(record)+1)
	}
	return strings.Join(append(there, plan), "; ")
}

func manager(namesake *helmv2.HelmRelease, rivals []rival, stock inventory) string {
	switch {
	case len(rivals) > 0:
		return "HelmRelease " + rivals[0].String()
	case namesake != nil:
		return fmt.Sprintf("HelmRelease %s/%s", namesake.Namespace, namesake.Name)
	case len(stock.fluxes) > 0:
		return fmt.Sprintf("HelmRelease %s until that was deleted", stock.fluxes[0])
	default:
		return "nobody but Helm, as far as its objects tell"
	}
}

// fought says who would undo a takeover, or turn it into an uninstall, and how to prevent that.
func fought(release addons.Release, namesake *helmv2.HelmRelease, rivals []rival) string {
	for _, r := range rivals {
		switch {
		case r.leaving:
			return fmt.Sprintf("HelmRelease %s manages the Helm release %s/%s and is being deleted: wait until it has gone", r, release.Namespace, release.Name)
		case r.unseen:
			return fmt.Sprintf("HelmRelease %s made the objects of Helm release %s/%s and may still be there, where the operator may not look; it would fight over them: "+
				"allow the operator's ServiceAccount to list helmreleases.helm.toolkit.fluxcd.io in all namespaces, and if it is there, %s",
				r, release.Namespace, release.Name, letGo(r.namespace, r.name))
		default:
			return fmt.Sprintf("HelmRelease %s manages the Helm release %s/%s, and would fight over it: %s", r, release.Namespace, release.Name, letGo(r.namespace, r.name))
		}
	}
	if namesake == nil {
		return ""
	}
	where := fmt.Sprintf("HelmRelease %s/%s", namesake.Namespace, namesake.Name)
	switch owner, boss, change := addonOf(namesake), bossOf(namesake), turnaround(namesake, release); {
	case owner != "" && owner != release.Addon:
		return fmt.Sprintf("%s belongs to add-on %q: choose another release name in the AddonDefinition of %s", where, owner, release.Addon)
	case namesake.Spec.Suspend:
		return fmt.Sprintf("%s is suspended, and nobody but who suspended it should resume it: flux resume helmrelease %s -n %s", where, namesake.Name, namesake.Namespace)
	case namesake.DeletionTimestamp != nil:
		return where + " is being deleted: wait until it has gone"
	case change != "":
		return fmt.Sprintf("%s %s; changed in place, Flux would uninstall that: %s", where, change, letGo(namesake.Namespace, namesake.Name))
	case boss != "":
		return fmt.Sprintf("%s is kept as it is by %s, which would fight over it: take it out of there first in a way that does not delete it (suspend it, or switch pruning off)", where, boss)
	}
	return ""
}

// letGo says how a HelmRelease goes without an uninstall.
func letGo(namespace, name string) string {
	return fmt.Sprintf("let it go without an uninstall, after taking it out of Git or whatever else makes it: kubectl -n %[1]s patch helmrelease %[2]s "+
		`--type=merge -p '{"spec":{"suspend":true}}' && kubectl -n %[1]s delete helmrelease %[2]s`, namespace, name)
}

// turnaround says what a HelmRelease manages if it is another Helm release or chart than the one wanted.
func turnaround(hr *helmv2.HelmRelease, release addons.Release) string {
	if hr.GetReleaseName() != release.Name || hr.GetReleaseNamespace() != release.Namespace || hr.GetStorageNamespace() != release.Namespace {
		return fmt.Sprintf("manages Helm release %s/%s with its records in %s, not %s/%s", hr.GetReleaseNamespace(), hr.GetReleaseName(), hr.GetStorageNamespace(), release.Namespace, release.Name)
	}
	if history := hr.Status.History.Latest(); history != nil && history.ChartName != path.Base(release.Chart) {
		return fmt.Sprintf("has chart %s installed, not %s", history.ChartName, path.Base(release.Chart))
	}
	return ""
}

// bossOf names the tool that keeps an object as it is, by the marks of the usual ones.
func bossOf(object client.Object) string {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	switch {
	case labels["kustomize.toolkit.fluxcd.io/name"] != "":
		return fmt.Sprintf("Flux's Kustomization %s/%s", labels["kustomize.toolkit.fluxcd.io/namespace"], labels["kustomize.toolkit.fluxcd.io/name"])
	case annotations["argocd.argoproj.io/tracking-id"] != "":
		name, _, _ := strings.Cut(annotations["argocd.argoproj.io/tracking-id"], ":")
		return "Argo CD's Application " + name
	case labels["argocd.argoproj.io/instance"] != "":
		return "Argo CD's Application " + labels["argocd.argoproj.io/instance"]
	}
	return ""
}
