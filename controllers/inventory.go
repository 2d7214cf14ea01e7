package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kurlsh/addon-operator/addons"
	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	// inventoryAge is for how long an inventory is believed: taking one lists every kind.
	inventoryAge = 5 * time.Minute
	// shownKinds and shownNames bound what is listed of one.
	shownKinds, shownNames = 6, 3
)

// inventory is what a Helm release consists of.
type inventory struct {
	at     time.Time
	names  map[string][]string // by resource
	fluxes []string            // HelmReleases that made something of it, as namespace/name
}

// takeStock lists the objects that Helm marked as the release's. It is done once for a revision, and again after five minutes.
func (o *Owners) takeStock(ctx context.Context, record *metav1.PartialObjectMetadata, release addons.Release) (inventory, error) {
	key := fmt.Sprintf("%s/%s %s", record.Namespace, record.Name, record.Labels["status"])
	o.mu.Lock()
	stock, known := o.inventory[key]
	o.mu.Unlock()
	if known && o.Clock.Since(stock.at) < inventoryAge {
		return stock, nil
	}
	found, err := o.Census.everything(ctx, v1alpha1.LabelManagedBy+"="+managedByHelm)
	if err != nil {
		return inventory{}, fmt.Errorf("looking for the objects of Helm release %s/%s: %w", release.Namespace, release.Name, err)
	}
	stock = inventory{at: o.Clock.Now(), names: map[string][]string{}}
	for _, object := range found.objects {
		if object.Annotations[annotationHelmRelease] == release.Name && object.Annotations[annotationHelmNamespace] == release.Namespace {
			count(&stock, object)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.inventory, func(_ string, old inventory) bool { return o.Clock.Since(old.at) >= inventoryAge })
	if o.inventory == nil {
		o.inventory = map[string]inventory{}
	}
	o.inventory[key] = stock
	return stock, nil
}

// count takes an object into an inventory.
func count(i *inventory, o object) {
	name := o.Name
	if o.Namespace != "" && o.Namespace != o.Annotations[annotationHelmNamespace] {
		name = o.Namespace + "/" + name
	}
	i.names[o.kind.Resource] = append(i.names[o.kind.Resource], name)
	if flux := o.Labels[labelFluxNamespace] + "/" + o.Labels[labelFluxName]; flux != "/" && !slices.Contains(i.fluxes, flux) {
		i.fluxes = append(i.fluxes, flux)
	}
}

// madeBy says whether our HelmRelease of that name made it, as its objects tell.
func (i inventory) madeBy(release addons.Release) bool {
	return slices.Equal(i.fluxes, []string{v1alpha1.Namespace + "/" + release.Name})
}

// unseenRivals are the HelmReleases of other namespaces that made something of it.
func (i inventory) unseenRivals() []rival {
	var rivals []rival
	for _, flux := range i.fluxes {
		if namespace, name, _ := strings.Cut(flux, "/"); namespace != v1alpha1.Namespace {
			rivals = append(rivals, rival{namespace: namespace, name: name, unseen: true})
		}
	}
	return rivals
}

// String counts the objects by kind, in the same order every time, and names the first few.
func (i inventory) String() string {
	if len(i.names) == 0 {
		return "no objects that can be found"
	}
	var parts []string
	rest := 0
	for n, resource := range slices.Sorted(maps.Keys(i.names)) {
		names := slices.Sorted(slices.Values(i.names[resource]))
		if n >= shownKinds {
			rest += len(names)
			continue
		}
		more := ""
		if len(names) > shownNames {
			more, names = ", …", names[:shownNames]
		}
		parts = append(parts, fmt.Sprintf("%d %s (%s%s)", len(i.names[resource]), resource, strings.Join(names, ", "), more))
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d other objects", rest))
	}
	return strings.Join(parts, ", ")
}
