{{- /*
The parts that the policies in protection-*.yaml have in common. Their messages are read by tired people: what, why, what to do instead,
and last how to do it all the same. A message must not contain line breaks, or the API server falls back to a standard one; the folded
style of YAML (>-) sees to that.

The policies outlive the operator: Helm keeps them, and the finalizer keeps them at work when `kubectl delete -f bundle.yaml` deletes
them, so that a second attempt is denied like the first. docs/removal.md says how to take them off.
*/ -}}

{{- /* The metadata of a policy or binding. Call with a dict of root and name. */ -}}
{{- define "addon-operator.protection.metadata" -}}
name: addon-operator-protects-{{ .name }}
annotations:
  helm.sh/resource-policy: keep
finalizers: [addons.kurl.sh/protection]
labels:
  {{- include "addon-operator.labels" .root | nindent 2 }}
{{- end }}

{{- /* A policy's binding: whatever a policy denies is denied. Call with a dict of root and name. */ -}}
{{- define "addon-operator.protection.binding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  {{- include "addon-operator.protection.metadata" . | nindent 2 }}
spec:
  policyName: addon-operator-protects-{{ .name }}
  validationActions: [Deny]
{{- end }}

{{- /* The operator itself is not held up. */ -}}
{{- define "addon-operator.protection.others" -}}
request.userInfo.username != 'system:serviceaccount:{{ .Release.Namespace }}:addon-operator'
{{- end }}

{{- define "addon-operator.protection.labelled" -}}
oldObject.metadata.?labels[?'addons.kurl.sh/protected'].orValue('') == 'true'
{{- end }}

{{- /* Variables that every policy but the Installers' uses. An update may bring its permission along. */ -}}
{{- define "addon-operator.protection.variables" -}}
- name: name
  expression: oldObject.metadata.name
- name: deleting
  expression: request.operation == 'DELETE'
- name: allowed
  expression: >-
    (variables.deleting ? oldObject : object).metadata.?annotations[?'addons.kurl.sh/allow-delete'].orValue('') == variables.name
- name: unlabelled
  expression: >-
    !variables.deleting && {{ include "addon-operator.protection.labelled" . }} &&
    object.metadata.?labels[?'addons.kurl.sh/protected'].orValue('') != 'true'
- name: released
  expression: >-
    !variables.deleting && 'addons.kurl.sh/uninstall' in oldObject.metadata.?finalizers.orValue([]) &&
    !('addons.kurl.sh/uninstall' in object.metadata.?finalizers.orValue([]))
- name: escape
  expression: >-
    'kubectl annotate ' + request.resource.resource + ' ' + variables.name +
    (has(oldObject.metadata.namespace) ? ' -n ' + oldObject.metadata.namespace : '') +
    ' addons.kurl.sh/allow-delete=' + variables.name + ', and then repeat your command.'
{{- end }}

{{- /* The label cannot be taken off. Call with what carries it. */ -}}
{{- define "addon-operator.protection.label" -}}
- expression: variables.allowed || !variables.unlabelled
  reason: Forbidden
  messageExpression: >-
    '{{ . }} ' + variables.name + ' is protected: without its label addons.kurl.sh/protected anybody could delete it by accident. ' +
    'Leave the label where it is. To take it off all the same: ' + variables.escape
{{- end }}
