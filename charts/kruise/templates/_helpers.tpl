{{/* The namespace of all namespaced objects. */}}
{{- define "kruise.namespace" -}}
{{- .Values.installation.namespace | default "kruise-system" -}}
{{- end -}}

{{/* Labels on every object. */}}
{{- define "kruise.labels" -}}
app.kubernetes.io/name: kruise
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: openkruise
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "kruise.selector" -}}
control-plane: controller-manager
{{- end -}}

{{- define "kruise.image" -}}
{{- printf "%s:%s" .Values.manager.image.repository (.Values.manager.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{/*
What featureGates says, as JSON: "said" has a state for each known name, "ignored" lists the entries that have no effect. The text is
parsed: spaces and order do not matter. As in the manager, an entry without effect does not stop an installation.
*/}}
{{- define "kruise.saidGates" -}}
{{- $table := .Files.Get "files/gates.yaml" | fromYaml -}}
{{- $said := dict -}}
{{- $ignored := list -}}
{{- range $entry := splitList "," (.Values.featureGates | default "" | toString) -}}
  {{- if trim $entry -}}
    {{- $parts := splitn "=" 2 $entry -}}
    {{- $name := trim $parts._0 -}}
    {{- $value := $parts._1 | default "" | trim | lower -}}
    {{- $known := or (hasKey $table.known $name) (has $name (list "AllAlpha" "AllBeta")) -}}
    {{- if and $known (has $value (list "true" "t" "1")) -}}
      {{- $_ := set $said $name true -}}
    {{- else if and $known (has $value (list "false" "f" "0")) -}}
      {{- $_ := set $said $name false -}}
    {{- else -}}
      {{- $ignored = append $ignored (trim $entry) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toJson (dict "said" $said "ignored" $ignored) -}}
{{- end -}}

{{/* All feature gates, resolved as the manager resolves them, as JSON. */}}
{{- define "kruise.gates" -}}
{{- $table := .Files.Get "files/gates.yaml" | fromYaml -}}
{{- $said := (include "kruise.saidGates" . | fromJson).said -}}
{{- $gates := dict -}}
{{- range $name, $gate := $table.known -}}
  {{- $on := $gate.default -}}
  {{- if and (hasKey $said $gate.stage) (ne $name "EnableExternalCerts") -}}
    {{- $on = get $said $gate.stage -}}
  {{- end -}}
  {{- if hasKey $said $name -}}
    {{- $on = get $said $name -}}
  {{- end -}}
  {{- $_ := set $gates $name $on -}}
{{- end -}}
{{- range $need := $table.needs -}}
  {{- if not (get $gates $need.gate) -}}
    {{- range $other := $need.off -}}
      {{- $_ := set $gates $other false -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if or (get $gates "PreDownloadImageForInPlaceUpdate") (get $gates "PreDownloadImageForDaemonSetUpdate") -}}
  {{- $_ := set $gates "ImagePullJobGate" true -}}
{{- end -}}
{{- toJson $gates -}}
{{- end -}}

{{/* The rules of one role. Call with (dict "root" $ "role" name). */}}
{{- define "kruise.rules" -}}
{{- $root := .root -}}
{{- $gates := include "kruise.gates" $root | fromJson -}}
{{- $all := $root.Files.Get "files/permissions.yaml" | fromYaml -}}
{{- range $rule := get $all.roles .role }}
{{- $granted := true }}
{{- if $rule.gate }}{{ $granted = get $gates $rule.gate }}{{ end }}
{{- if $rule.unless }}{{ $granted = not (get $gates $rule.unless) }}{{ end }}
{{- if $rule.value }}
{{- $value := $root.Values }}
{{- range $step := splitList "." $rule.value }}{{ $value = get $value $step }}{{ end }}
{{- $granted = $value }}
{{- end }}
{{- if $granted }}
- apiGroups: [{{ $rule.apiGroup | quote }}]
  resources: [{{ $rule.resource | quote }}]
  {{- with $rule.names }}
  resourceNames: {{ toJson . }}
  {{- end }}
  verbs: {{ toJson $rule.verbs }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Containers run without any privileges. */}}
{{- define "kruise.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "kruise.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65534
runAsGroup: 65534
seccompProfile:
  type: RuntimeDefault
{{- end -}}
