package v1alpha1_test

import (
	"fmt"
	"maps"
	"strings"
)

// rule is one change to a valid object, and what the API server says to it; nothing means that it accepts it.
type rule struct {
	path  string // fields and indexes, separated by slashes
	value any    // nil deletes the field
	want  string
}

const (
	validInstaller = `
apiVersion: addons.kurl.sh/v1alpha1
kind: Installer
metadata: {name: default}
spec:
  channel: stable
  suspend: false
  charts:
    mirror: oci://registry.local:5000/charts
    secretRef: {name: mirror}
    certSecretRef: {name: mirror-ca}
    insecure: true
  addons:
  - name: openebs
    version: 4.x
    values: {a: {b: 1}}
    valuesFrom: [{kind: Secret, name: openebs, key: values.yaml, optional: true}]
  - name: rook
    releases:
    - name: rook-ceph
      values: {a: 1}
      valuesFrom: [{kind: ConfigMap, name: rook}]
`
	validAddon = `
apiVersion: addons.kurl.sh/v1alpha1
kind: Addon
metadata: {name: openebs}
spec:
  installer: default
  version: 4.1.0
  state: Present
  charts: {mirror: "https://charts.local", secretRef: {name: mirror}, certSecretRef: {name: mirror-ca}}
  values: {a: 1}
  valuesFrom: [{kind: Secret, name: openebs}]
  releases: [{name: openebs, values: {a: 1}, valuesFrom: [{kind: ConfigMap, name: x}]}]
`
	validDefinition = `
apiVersion: addons.kurl.sh/v1alpha1
kind: AddonDefinition
metadata: {name: rook}
spec:
  description: Storage.
  provides: [storage]
  requires: [{addon: cert-manager, version: ">=1.15", optional: true}, {capability: network}]
  conflicts: [{addon: longhorn, message: both want the disks}]
  releases:
  - name: rook-ceph
    chart: {repository: "https://charts.rook.io/release", name: rook-ceph, secretRef: {name: a}, certSecretRef: {name: b}, insecure: false}
    namespace: rook-ceph
    namespaceLabels: {pod-security.kubernetes.io/enforce: privileged}
    crds: CreateReplace
    values: {a: 1}
    timeout: 10m
    onFailure: Retry
    test: true
    driftDetection: Warn
    driftIgnorePaths: [/spec/replicas]
  versions:
  - version: 1.18.11
    channels: [stable]
    kubernetes: ">=1.31"
    upgradeFrom: ">=1.17.0"
    releases: {rook-ceph: {chartVersion: v1.18.11, values: {b: 2}}}
`
)

func text(length int) string { return strings.Repeat("a", length) }

// entries makes a list of so many objects, numbered in one field.
func entries(count int, field string, others map[string]any) []any {
	var list []any
	for i := range count {
		entry := map[string]any{field: fmt.Sprintf("n%d", i)}
		maps.Copy(entry, others)
		list = append(list, entry)
	}
	return list
}

func repeated(count int, format string) []any {
	var list []any
	for i := range count {
		list = append(list, fmt.Sprintf(format, i))
	}
	return list
}

func numbered(count int, value any) map[string]any {
	m := map[string]any{}
	for i := range count {
		m[fmt.Sprintf("n%d", i)] = value
	}
	return m
}

// chartRules hold wherever charts are taken from a mirror.
func chartRules() map[string]rule {
	return map[string]rule{
		"mirror missing":       {"spec/charts/mirror", nil, "spec.charts.mirror: Required value"},
		"mirror empty":         {"spec/charts/mirror", "", "spec.charts.mirror"},
		"mirror too long":      {"spec/charts/mirror", "oci://" + text(1024), "Too long"},
		"mirror without host":  {"spec/charts/mirror", "oci://", "should match"},
		"mirror of no scheme":  {"spec/charts/mirror", "registry.local/charts", "should match"},
		"mirror by file":       {"spec/charts/mirror", "file:///charts", "should match"},
		"mirror with a blank":  {"spec/charts/mirror", "https://a b", "should match"},
		"mirror by http":       {"spec/charts/mirror", "http://charts.local", ""},
		"secret without name":  {"spec/charts/secretRef/name", nil, "spec.charts.secretRef.name: Required value"},
		"secret of no name":    {"spec/charts/secretRef/name", "", "at least 1 char"},
		"secret name too long": {"spec/charts/secretRef/name", text(254), "Too long"},
		"ca without name":      {"spec/charts/certSecretRef/name", nil, "Required value"},
		"ca of no name":        {"spec/charts/certSecretRef/name", "", "at least 1 char"},
		"ca name too long":     {"spec/charts/certSecretRef/name", text(254), "Too long"},
	}
}

// valuesRules hold wherever values are given, below a path.
func valuesRules(at string) map[string]rule {
	return map[string]rule{
		"values are a list":           {at + "/values", []any{"a"}, "must be of type object"},
		"values are text":             {at + "/values", "a: 1", "must be of type object"},
		"values are anything":         {at + "/values", map[string]any{"a": []any{map[string]any{"b": "c"}, int64(1), nil}, "": "empty key"}, ""},
		"reference of no kind":        {at + "/valuesFrom/0/kind", nil, "Required value"},
		"reference to a Pod":          {at + "/valuesFrom/0/kind", "Pod", `supported values: "Secret", "ConfigMap"`},
		"reference without a name":    {at + "/valuesFrom/0/name", nil, "Required value"},
		"reference of an empty name":  {at + "/valuesFrom/0/name", "", "at least 1 char"},
		"reference name too long":     {at + "/valuesFrom/0/name", text(254), "Too long"},
		"reference key too long":      {at + "/valuesFrom/0/key", text(254), "Too long"},
		"reference key is a path":     {at + "/valuesFrom/0/key", "a/b", "should match"},
		"reference key":               {at + "/valuesFrom/0/key", "A_b-c.yaml", ""},
		"reference twice":             {at + "/valuesFrom", entries(2, "name", map[string]any{"kind": "Secret"}), ""},
		"too many references":         {at + "/valuesFrom", entries(17, "name", map[string]any{"kind": "Secret"}), "must have at most 16 items"},
		"reference is optional: text": {at + "/valuesFrom/0/optional", "yes", "must be of type boolean"},
	}
}

func overrideRules(at string) map[string]rule {
	return map[string]rule{
		"override without a name":   {at + "/0/name", nil, "Required value"},
		"override of an empty name": {at + "/0/name", "", "at least 1 char"},
		"override name too long":    {at + "/0/name", text(54), "Too long"},
		"override twice":            {at, []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}}, "Duplicate value"},
		"too many overrides":        {at, entries(33, "name", nil), "must have at most 32 items"},
	}
}

func installerRules() map[string]rule {
	return map[string]rule{
		"as it is":                  {"spec/suspend", true, ""},
		"no spec":                   {"spec", nil, ""},
		"long name":                 {"metadata/name", text(63), ""},
		"name too long":             {"metadata/name", text(64), "metadata.name must have at most 63 characters"},
		"unknown field":             {"spec/addon", "x", `unknown field "spec.addon"`},
		"unknown field of an addon": {"spec/addons/0/vershun", "1", `unknown field "spec.addons[0].vershun"`},
		"unknown field of status":   {"status", map[string]any{"x": "y"}, `unknown field "status.x"`},
		"channel too long":          {"spec/channel", text(64), "Too long"},
		"channel in capitals":       {"spec/channel", "Stable", "should match"},
		"channel with a dot":        {"spec/channel", "1.x", ""},
		"no addon":                  {"spec/addons", []any{}, ""},
		"addon without a name":      {"spec/addons/0/name", nil, "Required value"},
		"addon of an empty name":    {"spec/addons/0/name", "", "at least 1 char"},
		"addon name too long":       {"spec/addons/0/name", text(64), "Too long"},
		"addon name in capitals":    {"spec/addons/0/name", "Rook", "should match"},
		"addon name with a dot":     {"spec/addons/0/name", "a.b", "should match"},
		"addon name ends in a dash": {"spec/addons/0/name", "a-", "should match"},
		"addon twice":               {"spec/addons/1/name", "openebs", "Duplicate value"},
		"addon version too long":    {"spec/addons/0/version", text(257), "Too long"},
		"addon version is a range":  {"spec/addons/0/version", ">=1.2 <2 || 3.x", ""},
		"addon version is a number": {"spec/addons/0/version", 1.5, "must be of type string"},
		"many addons":               {"spec/addons", entries(1000, "name", nil), ""},
		"too many addons":           {"spec/addons", entries(1001, "name", nil), "must have at most 1000 items"},
	}
}

func addonRules() map[string]rule {
	return map[string]rule{
		"as it is":             {"spec/state", "Absent", ""},
		"name too long":        {"metadata/name", text(64), "metadata.name must have at most 63 characters"},
		"unknown field":        {"spec/vershun", "1", `unknown field "spec.vershun"`},
		"no installer":         {"spec/installer", nil, "Required value"},
		"empty installer":      {"spec/installer", "", "at least 1 char"},
		"installer too long":   {"spec/installer", text(64), "Too long"},
		"no version":           {"spec/version", nil, "Required value"},
		"empty version":        {"spec/version", "", "at least 1 char"},
		"version too long":     {"spec/version", text(129), "Too long"},
		"no state":             {"spec/state", nil, "Required value"},
		"state of another API": {"spec/state", "Deleted", `supported values: "Present", "Absent"`},
	}
}

func definitionRules() map[string]rule {
	version := map[string]any{"releases": map[string]any{"rook-ceph": map[string]any{"chartVersion": "1.0.0"}}}
	release := map[string]any{"namespace": "a", "chart": map[string]any{"repository": "oci://a", "name": "b"}}
	return map[string]rule{
		"as it is":                    {"spec/description", "Other.", ""},
		"name too long":               {"metadata/name", text(64), "metadata.name must have at most 63 characters"},
		"name with a dot":             {"metadata/name", "a.b", "metadata.name must not contain a dot"},
		"no spec":                     {"spec", nil, "spec: Required value"},
		"unknown field":               {"spec/provide", "x", `unknown field "spec.provide"`},
		"unknown field of a release":  {"spec/releases/0/crd", "x", `unknown field "spec.releases[0].crd"`},
		"unknown field of a version":  {"spec/versions/0/releases/rook-ceph/chart", "x", `unknown field "spec.versions[0].releases.rook-ceph.chart"`},
		"description too long":        {"spec/description", text(4097), "Too long"},
		"provides twice":              {"spec/provides", []any{"a", "a"}, "Duplicate value"},
		"provides too much":           {"spec/provides", repeated(33, "n%d"), "must have at most 32 items"},
		"provides with capitals":      {"spec/provides", []any{"Storage"}, "should match"},
		"provides too long":           {"spec/provides", []any{text(64)}, "Too long"},
		"requires nothing":            {"spec/requires/0", map[string]any{"optional": true}, "exactly one of addon and capability must be set"},
		"requires both":               {"spec/requires/0/capability", "storage", "exactly one of addon and capability must be set"},
		"version of a capability":     {"spec/requires/1/version", "1.x", "version can only be set together with addon"},
		"requires an empty addon":     {"spec/requires/0/addon", "", "at least 1 char"},
		"requires an addon too long":  {"spec/requires/0/addon", text(64), "Too long"},
		"requires an addon in caps":   {"spec/requires/0/addon", "Rook", "should match"},
		"requires an empty version":   {"spec/requires/0/version", "", "at least 1 char"},
		"requires a version too long": {"spec/requires/0/version", text(257), "Too long"},
		"requires no capability":      {"spec/requires/1/capability", "", "at least 1 char"},
		"capability too long":         {"spec/requires/1/capability", text(64), "Too long"},
		"capability in caps":          {"spec/requires/1/capability", "Storage", "should match"},
		"requires too much":           {"spec/requires", entries(33, "addon", nil), "must have at most 32 items"},
		"conflicts with nothing":      {"spec/conflicts/0/addon", nil, "Required value"},
		"conflicts with an empty one": {"spec/conflicts/0/addon", "", "at least 1 char"},
		"conflicts with one too long": {"spec/conflicts/0/addon", text(64), "Too long"},
		"conflicts with one in caps":  {"spec/conflicts/0/addon", "Rook", "should match"},
		"conflict message too long":   {"spec/conflicts/0/message", text(1025), "Too long"},
		"conflicts twice":             {"spec/conflicts", []any{map[string]any{"addon": "a"}, map[string]any{"addon": "a"}}, "Duplicate value"},
		"conflicts too much":          {"spec/conflicts", entries(33, "addon", nil), "must have at most 32 items"},
		"no releases":                 {"spec/releases", nil, "Required value"},
		"empty releases":              {"spec/releases", []any{}, "should have at least 1 items"},
		"release twice":               {"spec/releases", []any{merged(release, "a"), merged(release, "a")}, "Duplicate value"},
		"too many releases":           {"spec/releases", entries(33, "name", release), "must have at most 32 items"},
		"no versions":                 {"spec/versions", nil, "Required value"},
		"empty versions":              {"spec/versions", []any{}, "should have at least 1 items"},
		"version twice":               {"spec/versions", []any{entries(1, "version", version)[0], entries(1, "version", version)[0]}, "Duplicate value"},
		"many versions":               {"spec/versions", entries(256, "version", version), ""},
		"too many versions":           {"spec/versions", entries(257, "version", version), "must have at most 256 items"},
	}
}

func merged(release map[string]any, name string) map[string]any {
	named := maps.Clone(release)
	named["name"] = name
	return named
}

func releaseRules() map[string]rule {
	const at = "spec/releases/0"
	return map[string]rule{
		"release without a name":       {at + "/name", nil, "Required value"},
		"release of an empty name":     {at + "/name", "", "at least 1 char"},
		"release name too long":        {at + "/name", text(54), "Too long"},
		"release name as long as may":  {at + "/name", text(53), ""},
		"release name with a dot":      {at + "/name", "a.b", "should match"},
		"release without a chart":      {at + "/chart", nil, "Required value"},
		"chart without a repository":   {at + "/chart/repository", nil, "Required value"},
		"chart of an empty repository": {at + "/chart/repository", "", "should"},
		"chart repository too long":    {at + "/chart/repository", "https://" + text(1024), "Too long"},
		"chart repository by git":      {at + "/chart/repository", "git://a", "should match"},
		"chart repository by oci":      {at + "/chart/repository", "oci://ghcr.io/a", ""},
		"chart without a name":         {at + "/chart/name", nil, "Required value"},
		"chart of an empty name":       {at + "/chart/name", "", "at least 1 char"},
		"chart name too long":          {at + "/chart/name", text(257), "Too long"},
		"chart secret without a name":  {at + "/chart/secretRef/name", nil, "Required value"},
		"chart secret of no name":      {at + "/chart/secretRef/name", "", "at least 1 char"},
		"chart secret too long":        {at + "/chart/secretRef/name", text(254), "Too long"},
		"chart ca without a name":      {at + "/chart/certSecretRef/name", nil, "Required value"},
		"chart ca of no name":          {at + "/chart/certSecretRef/name", "", "at least 1 char"},
		"chart ca too long":            {at + "/chart/certSecretRef/name", text(254), "Too long"},
		"no namespace":                 {at + "/namespace", nil, "Required value"},
		"empty namespace":              {at + "/namespace", "", "at least 1 char"},
		"namespace too long":           {at + "/namespace", text(64), "Too long"},
		"namespace in capitals":        {at + "/namespace", "Rook", "should match"},
		"too many labels":              {at + "/namespaceLabels", numbered(33, "x"), "must have at most 32 items"},
		"label is a number":            {at + "/namespaceLabels/x", int64(1), "must be of type string"},
		"crds of another policy":       {at + "/crds", "Replace", `supported values: "Skip", "Create", "CreateReplace"`},
		"crds skipped":                 {at + "/crds", "Skip", ""},
		"crds created":                 {at + "/crds", "Create", ""},
		"timeout in words":             {at + "/timeout", "10 minutes", "should match"},
		"timeout without a unit":       {at + "/timeout", "10", "should match"},
		"timeout is a number":          {at + "/timeout", int64(10), "must be of type string"},
		"timeout of nothing":           {at + "/timeout", "0s", "timeout must be more than 0s and at most 24h"},
		"timeout of a week":            {at + "/timeout", "168h", "timeout must be more than 0s and at most 24h"},
		"timeout no computer can hold": {at + "/timeout", "99999999999h", "timeout"},
		"timeout too long to read":     {at + "/timeout", strings.Repeat("1m", 17), "Too long"},
		"timeout in parts":             {at + "/timeout", "1h30m0.5s", ""},
		"failure of another policy":    {at + "/onFailure", "Panic", `supported values: "Retry", "Rollback"`},
		"failure rolls back":           {at + "/onFailure", "Rollback", ""},
		"drift of another policy":      {at + "/driftDetection", "Ignore", `supported values: "Disabled", "Warn", "Enabled"`},
		"drift put back":               {at + "/driftDetection", "Enabled", ""},
		"drift not looked for":         {at + "/driftDetection", "Disabled", ""},
		"drift path twice":             {at + "/driftIgnorePaths", []any{"/a", "/a"}, "Duplicate value"},
		"drift path with dots":         {at + "/driftIgnorePaths", []any{"spec.replicas"}, "should match"},
		"drift path too long":          {at + "/driftIgnorePaths", []any{"/" + text(1024)}, "Too long"},
		"too many drift paths":         {at + "/driftIgnorePaths", repeated(65, "/n%d"), "must have at most 64 items"},
		"values are a list":            {at + "/values", []any{}, "must be of type object"},
	}
}

func versionRules() map[string]rule {
	const at = "spec/versions/0"
	chart := map[string]any{"chartVersion": "1.0.0"}
	rules := map[string]rule{
		"version without a name":      {at + "/version", nil, "Required value"},
		"empty version":               {at + "/version", "", "at least 1 char"},
		"version too long":            {at + "/version", text(129), "Too long"},
		"version is a range":          {at + "/version", ">=1", "should match"},
		"version is a date":           {at + "/version", "RELEASE.2025-10-15T17-29-55Z", ""},
		"channel twice":               {at + "/channels", []any{"a", "a"}, "Duplicate value"},
		"too many channels":           {at + "/channels", repeated(33, "n%d"), "must have at most 32 items"},
		"channel that none can name":  {at + "/channels", []any{"Stable"}, "should match"},
		"channel too long":            {at + "/channels", []any{text(64)}, "Too long"},
		"kubernetes too long":         {at + "/kubernetes", text(257), "Too long"},
		"upgradeFrom too long":        {at + "/upgradeFrom", text(257), "Too long"},
		"version without releases":    {at + "/releases", nil, "Required value"},
		"version of empty releases":   {at + "/releases", map[string]any{}, "should have at least 1 properties"},
		"version of many releases":    {at + "/releases", numbered(33, chart), "must have at most 32 items"},
		"chart version missing":       {at + "/releases/rook-ceph/chartVersion", nil, "Required value"},
		"chart version empty":         {at + "/releases/rook-ceph/chartVersion", "", "at least 1 char"},
		"chart version too long":      {at + "/releases/rook-ceph/chartVersion", "1.0.0-" + text(128), "Too long"},
		"values of a version as text": {at + "/releases/rook-ceph/values", "a", "must be of type object"},
	}
	for _, version := range []string{"1.x", ">=1.0.0", "^1.2", "~1.2.3", "*", "1.0.0 || 2.0.0", "latest"} {
		rules["chart version is the range "+version] = rule{at + "/releases/rook-ceph/chartVersion", version, "should match"}
	}
	for _, version := range []string{"1.2.3", "v1.2.3", "1.2", "58", "1.2.3-rc.1", "1.2.3+build.5", "1.2.3-rc.1+build", "2.8.1-20230417", "1.2.3_build"} {
		rules["chart version is "+version] = rule{at + "/releases/rook-ceph/chartVersion", version, ""}
	}
	return rules
}
