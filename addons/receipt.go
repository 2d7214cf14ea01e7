package addons

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	// maxLeftBehind is how many objects a receipt names.
	maxLeftBehind = 50
	// maxNamed is how many objects or kinds one sentence names.
	maxNamed = 5
)

// Traces are what was found of an add-on once Flux was done with its releases. Objects are named resource/namespace/name, or
// resource/name where they are in no namespace.
type Traces struct {
	Releases []Trace
	// Kept are objects that an uninstall leaves on purpose: CRDs, volumes, and what its chart marks as kept.
	Kept []string
	// Namespaces are those that the operator made and that stay.
	Namespaces []KeptNamespace
	// Unseen are kinds of which it is not known whether anything is left.
	Unseen []Unseen
}

// Trace is what was found of one release.
type Trace struct {
	Name      string
	Namespace string
	// Known says that its HelmRelease was there to tell of the uninstall, and Uninstall what it told.
	Known     bool
	Uninstall Uninstall
	// Suspended says that the HelmRelease was suspended when it was deleted.
	Suspended bool
	// Storage are Helm's own records of the release.
	Storage []string
	// Objects that the chart made and that should have gone.
	Objects []string
	// Stuck tells which finalizers hold those of Objects that are being deleted.
	Stuck []string
}

// KeptNamespace is a namespace that stays, and why.
type KeptNamespace struct {
	Name string
	// Holds are objects in it that are not the add-on's, or that hold data.
	Holds []string
	// Unseen are the kinds of which it is not known whether they are in it.
	Unseen []string
	// Problem says why it could not be deleted although nothing is in it; empty when that is not so.
	Problem string
}

// Unseen is a kind that could not be listed.
type Unseen struct {
	// Resource is the kind in the form `roles.rbac.authorization.k8s.io`, or an API group that did not answer.
	Resource string
	// Forbidden says that a permission is missing; otherwise Problem is what went wrong.
	Forbidden bool
	Problem   string
}

// Conclude judges a removal by what was found: it fills in the result, the message and what was left behind. An add-on is Removed only
// if each uninstall was seen, or at least nothing is left to uninstall; otherwise it is Orphaned, and the message says what to do.
func Conclude(t Traces) v1alpha1.Receipt {
	receipt := v1alpha1.Receipt{Result: v1alpha1.OutcomeRemoved}
	var sentences, left []string
	for _, trace := range t.Releases {
		if sentence := trace.unfinished(len(t.Unseen) > 0); sentence != "" {
			receipt.Result = v1alpha1.OutcomeOrphaned
			sentences = append(sentences, sentence)
		}
		left = append(append(left, trace.Storage...), trace.Objects...)
	}
	for _, namespace := range t.Namespaces {
		sentences = append(sentences, namespace.sentence())
		left = append(left, "namespaces/"+namespace.Name)
	}
	sentences = append(sentences, unseenSentences(t.relevant())...)
	left = append(left, t.Kept...)
	receipt.LeftBehind, sentences = cut(left, sentences)
	receipt.Message = strings.Join(sentences, "; ")
	return receipt
}

// relevant are the unseen kinds that matter. Once every uninstall was seen, those are the kinds whose CRDs or possible objects were kept.
func (t Traces) relevant() []Unseen {
	if slices.ContainsFunc(t.Releases, func(trace Trace) bool { return !trace.Known || trace.Uninstall != UninstallDone }) {
		return t.Unseen
	}
	return slices.DeleteFunc(slices.Clone(t.Unseen), func(kind Unseen) bool {
		mayHold := func(namespace KeptNamespace) bool { return slices.Contains(namespace.Unseen, kind.Resource) }
		return !slices.Contains(t.Kept, "customresourcedefinitions/"+kind.Resource) && !slices.ContainsFunc(t.Namespaces, mayHold)
	})
}

// cut keeps a list of what is left behind short, and says so.
func cut(left, sentences []string) (kept, said []string) {
	slices.Sort(left)
	left = slices.Compact(left)
	if rest := len(left) - maxLeftBehind; rest > 0 {
		return left[:maxLeftBehind], append(sentences, fmt.Sprintf("leftBehind names %d objects, and there are %d more", maxLeftBehind, rest))
	}
	return left, sentences
}

// unfinished says why a release does not count as removed and what to do; empty when it does.
func (t Trace) unfinished(unseen bool) string {
	helm := fmt.Sprintf("run: helm uninstall %s -n %s", t.Name, t.Namespace)
	remedy := "delete those that are not needed any more"
	if len(t.Storage) > 0 {
		remedy = helm
	}
	switch {
	case t.Known && t.Uninstall == UninstallSkipped:
		return fmt.Sprintf("release %s was not uninstalled, %s; %s left; %s", t.Name, t.cause(), t.count(), remedy)
	case len(t.Storage) > 0 && t.Known:
		return fmt.Sprintf("Flux was done with release %s, but Helm still has it: %s left; %s", t.Name, t.count(), helm)
	case len(t.Storage)+len(t.Objects) > 0 && !t.Known:
		return fmt.Sprintf("HelmRelease %s was deleted past the operator, and nothing tells of an uninstall: %s left; %s", t.Name, t.count(), remedy)
	case len(t.Objects) > 0 && t.Uninstall == UninstallAssumed:
		return fmt.Sprintf("Flux found no Helm release %s in namespace %s and took it for uninstalled, but %s left: %s; %s",
			t.Name, t.Namespace, t.count(), named(t.Objects), remedy)
	case len(t.Stuck) > 0:
		return fmt.Sprintf("release %s was uninstalled, but its objects are still being deleted, and whoever has to finish that may be gone: %s", t.Name, named(t.Stuck))
	case len(t.Objects) > 0:
		return fmt.Sprintf("release %s was uninstalled, but %s left: %s; %s", t.Name, t.count(), named(t.Objects), remedy)
	case unseen && (!t.Known || t.Uninstall == UninstallAssumed):
		return fmt.Sprintf("nothing of release %s was found, but its uninstall was not seen, and not everything could be looked at", t.Name)
	default:
		return ""
	}
}

func (t Trace) cause() string {
	if t.Suspended {
		return "since its HelmRelease was suspended when it was deleted"
	}
	return "since Flux or somebody in its place let go of its HelmRelease without doing so, as Flux does when the ServiceAccount that it acts as is missing"
}

func (t Trace) count() string {
	n := len(t.Storage) + len(t.Objects)
	if n == 1 {
		return "1 object is"
	}
	return fmt.Sprintf("%d objects are", n)
}

func (n KeptNamespace) sentence() string {
	var reasons []string
	if len(n.Holds) > 0 {
		reasons = append(reasons, "holds "+named(n.Holds))
	}
	if len(n.Unseen) > 0 {
		reasons = append(reasons, "may hold "+named(n.Unseen))
	}
	if n.Problem != "" {
		reasons = append(reasons, "could not be deleted: "+n.Problem)
	}
	return fmt.Sprintf("namespace %s was kept, since it %s", n.Name, strings.Join(reasons, " and "))
}

func unseenSentences(unseen []Unseen) []string {
	var forbidden, failed []string
	for _, kind := range unseen {
		if kind.Forbidden {
			forbidden = append(forbidden, kind.Resource)
		} else {
			failed = append(failed, fmt.Sprintf("%s (%s)", kind.Resource, cmp.Or(kind.Problem, "no answer")))
		}
	}
	var sentences []string
	if len(forbidden) > 0 {
		slices.Sort(forbidden)
		sentences = append(sentences, fmt.Sprintf(
			`the operator may not list %s, and did not look there: allow it with a ClusterRole that has the verbs get and list and the label addons.kurl.sh/aggregate-to-facts: "true"`,
			named(forbidden)))
	}
	if len(failed) > 0 {
		slices.Sort(failed)
		sentences = append(sentences, "what is left of these could not be found out: "+named(failed))
	}
	return sentences
}

// named lists a few, and says how many more there are.
func named(names []string) string { return FirstFew(names, maxNamed) }

// Awaited says what a removal still waits for: objects that are being deleted, each with the finalizers that hold it.
func Awaited(objects []string) string {
	slices.Sort(objects)
	return "Flux is done; waiting until this is gone too: " + named(slices.Compact(objects))
}

// HandedOver is the receipt of an add-on that runs on without the operator: the names of its HelmReleases, and all that they still need. Ended
// are releases whose HelmReleases had been deleted before.
func HandedOver(running, needs, ended []string) v1alpha1.Receipt {
	receipt := v1alpha1.Receipt{Result: v1alpha1.OutcomeOrphaned}
	left := slices.Clone(needs)
	for _, name := range running {
		left = append(left, "helmreleases/"+v1alpha1.Namespace+"/"+name)
	}
	sentences := []string{fmt.Sprintf("left running as asked: Flux goes on with it until somebody runs: kubectl delete helmrelease -n %s %s",
		v1alpha1.Namespace, strings.Join(running, " "))}
	if len(ended) > 0 {
		sentences = append(sentences, "could not be left any more, since Flux had ended it already: "+named(ended))
	}
	receipt.LeftBehind, sentences = cut(left, sentences)
	receipt.Message = strings.Join(sentences, "; ")
	return receipt
}
