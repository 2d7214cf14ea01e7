package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kurlsh/addon-operator/api/v1alpha1"
)

const (
	redraw     = 500 * time.Millisecond
	widest     = 90 // columns of a message
	cursorUp   = "\x1b[%dA"
	eraseToEnd = "\x1b[J"
)

// show prints the add-ons of the sample until all are ready: over and over at the same place on a terminal, and otherwise once for
// every change.
func show(ctx context.Context, config *rest.Config) error {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	start, screen := time.Now(), screen{out: os.Stdout, terminal: isTerminal(os.Stdout)}
	err = wait.PollUntilContextCancel(ctx, redraw, true, func(ctx context.Context) (bool, error) {
		var installer v1alpha1.Installer
		if err := api.Get(ctx, client.ObjectKey{Name: "default"}, &installer); err != nil {
			return false, fmt.Errorf("reading the Installer: %w", err)
		}
		screen.draw(table(installer.Status.Addons))
		return apimeta.IsStatusConditionTrue(installer.Status.Conditions, v1alpha1.ConditionReady), nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("not all add-ons are ready after %s; see: kubectl describe addons", patience)
	}
	if err == nil {
		fmt.Printf("\nAll add-ons are ready after %s.\n", time.Since(start).Round(time.Second))
	}
	return err
}

func table(addons []v1alpha1.AddonSummary) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ADD-ON\tSTATE\tVERSION\tWANTED\tMESSAGE")
	for _, addon := range addons {
		message := addon.Message
		if len(message) > widest {
			message = message[:widest-1] + "…"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", addon.Name, addon.State, addon.Version, addon.DesiredVersion, message)
	}
	_ = w.Flush() // a strings.Builder takes everything
	return text.String()
}

// screen is where the table is drawn.
type screen struct {
	out      io.Writer
	terminal bool
	last     string
}

func (s *screen) draw(text string) {
	if text == s.last {
		return
	}
	if s.terminal && s.last != "" {
		fmt.Fprintf(s.out, cursorUp+eraseToEnd, strings.Count(s.last, "\n"))
	}
	fmt.Fprint(s.out, text)
	if !s.terminal {
		fmt.Fprintln(s.out)
	}
	s.last = text
}

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
