{{/* Names and labels. */}}
{{- define "curbcut.chartName" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* The name of the release's objects, and the beginning of their names. */}}
{{- define "curbcut.name" -}}
{{- $chart := include "curbcut.chartName" . }}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride }}
{{- else if contains $chart .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" (.Release.Name | trunc 32 | trimSuffix "-") $chart | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "curbcut.selector" -}}
app.kubernetes.io/name: {{ include "curbcut.chartName" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "curbcut.labels" -}}
{{ include "curbcut.selector" . }}
app.kubernetes.io/part-of: curbcut
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- include "curbcut.moreLabels" .root.Values.commonLabels }}
{{- end }}

{{/* More lines of labels. The schema refuses those that the chart itself sets. */}}
{{- define "curbcut.moreLabels" -}}
{{- range $name, $value := . }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "curbcut.scansNamespace" -}}
{{ .Values.scans.namespace | default (printf "%s-scans" .Release.Namespace) }}
{{- end }}

{{/* The label of namespaces in which a release reads ScanQueues. */}}
{{- define "curbcut.queuesLabel" -}}
curbcut.dev/scan-queues
{{- end }}

{{/* The named namespaces whose scans are run, as a JSON list. */}}
{{- define "curbcut.scanNamespaces" -}}
{{ concat (list (include "curbcut.scansNamespace" .)) .Values.scans.extraNamespaces | uniq | toJson }}
{{- end }}

{{/* The ServiceAccount of a process: (dict "root" . "component" "api" "values" .Values.api). */}}
{{- define "curbcut.serviceAccount" -}}
{{- if .values.serviceAccount.name }}{{ .values.serviceAccount.name }}
{{- else if .values.serviceAccount.create }}{{ include "curbcut.name" .root }}-{{ .component }}
{{- else }}{{ fail (printf "\n\n%s.serviceAccount.name is not set: with serviceAccount.create=false, name an existing ServiceAccount of this namespace" .component) }}
{{- end }}
{{- end }}

{{- define "curbcut.evaluationName" -}}
{{ include "curbcut.name" . }}-evaluation
{{- end }}

{{- define "curbcut.demoHost" -}}
{{ include "curbcut.name" . }}-demo.{{ .Release.Namespace }}.svc
{{- end }}

{{/* The Secret with the plain values of mongodb, nats, s3 and smtp. */}}
{{- define "curbcut.connectionsName" -}}
{{ include "curbcut.name" . }}-connections
{{- end }}

{{/* Addresses of dependencies: those of the evaluation's pod, or those of the values. */}}
{{- define "curbcut.mongodbUrl" -}}
{{ if .Values.evaluation.enabled }}mongodb://{{ include "curbcut.evaluationName" . }}.{{ .Release.Namespace }}.svc:27017/curbcut?directConnection=true{{ else }}{{ .Values.mongodb.url }}{{ end }}
{{- end }}
{{- define "curbcut.natsUrl" -}}
{{ if .Values.evaluation.enabled }}nats://{{ include "curbcut.evaluationName" . }}.{{ .Release.Namespace }}.svc:4222{{ else }}{{ .Values.nats.url }}{{ end }}
{{- end }}
{{- define "curbcut.s3Endpoint" -}}
{{ if .Values.evaluation.enabled }}http://{{ include "curbcut.evaluationName" . }}.{{ .Release.Namespace }}.svc:9000{{ else }}{{ .Values.s3.endpoint }}{{ end }}
{{- end }}
{{/* The mail server's address; empty without one, or if it is in a Secret. */}}
{{- define "curbcut.smtpUrl" -}}
{{ if .Values.evaluation.enabled }}smtp://{{ include "curbcut.evaluationName" . }}.{{ .Release.Namespace }}.svc:2525{{ else if not .Values.smtp.existingSecret.name }}{{ .Values.smtp.url }}{{ end }}
{{- end }}

{{/* The host of the Ingress or HTTPRoute; empty without one. */}}
{{- define "curbcut.publicHost" -}}
{{- if .Values.api.ingress.enabled }}{{ (first .Values.api.ingress.hosts).host }}
{{- else if .Values.api.httpRoute.enabled }}{{ first .Values.api.httpRoute.hostnames }}
{{- end }}
{{- end }}
{{- define "curbcut.publicBaseUrl" -}}
{{- $host := include "curbcut.publicHost" . }}
{{- if .Values.api.publicBaseUrl }}{{ .Values.api.publicBaseUrl -}}
{{- else if $host }}{{ .Values.api.publicScheme | default (and .Values.api.ingress.enabled (not .Values.api.ingress.tls) | ternary "http" "https") }}://{{ $host -}}
{{- else if .Values.evaluation.enabled }}http://localhost:8080
{{- else }}http://{{ include "curbcut.name" . }}.{{ .Release.Namespace }}.svc:{{ .Values.api.service.port }}
{{- end }}
{{- end }}

{{- define "curbcut.allowTargets" -}}
{{ concat .Values.targets.allow (ternary (list (include "curbcut.demoHost" .)) (list) .Values.evaluation.enabled) | join "," }}
{{- end }}

{{- define "curbcut.testTargets" -}}
{{ concat .Values.targets.test (ternary (list (include "curbcut.demoHost" .)) (list) .Values.evaluation.enabled) | join "," }}
{{- end }}

{{/* The Secret and the key with NATS' .creds file, as "name key"; empty without one. */}}
{{- define "curbcut.natsCredentials" -}}
{{- if .Values.evaluation.enabled }}{{ include "curbcut.evaluationName" . }} service.creds
{{- else if and .Values.nats.existingSecret.name .Values.nats.existingSecret.credentialsKey }}{{ .Values.nats.existingSecret.name }} {{ .Values.nats.existingSecret.credentialsKey }}
{{- else if .Values.nats.credentials }}{{ include "curbcut.connectionsName" . }} nats.creds
{{- end }}
{{- end }}

{{/* One variable from a Secret: (dict "name" … "secret" … "key" …). */}}
{{- define "curbcut.secretEnv" -}}
- name: {{ .name }}
  valueFrom: { secretKeyRef: { name: {{ .secret }}, key: {{ .key }} } }
{{- end }}

{{/* Environment variables of both API and operator. */}}
{{- define "curbcut.commonEnv" -}}
{{- $evaluation := .Values.evaluation.enabled }}
{{- $own := include "curbcut.connectionsName" . }}
- { name: HOST, value: 0.0.0.0 }
- { name: CURBCUT_NAMESPACE, value: {{ include "curbcut.scansNamespace" . | quote }} }
- { name: CURBCUT_CLASS, value: {{ .Values.scans.class | quote }} }
{{- if $evaluation }}
- { name: MONGODB_URL, value: {{ include "curbcut.mongodbUrl" . | quote }} }
{{- else if .Values.mongodb.existingSecret.name }}
{{ include "curbcut.secretEnv" (dict "name" "MONGODB_URL" "secret" .Values.mongodb.existingSecret.name "key" .Values.mongodb.existingSecret.key) }}
{{- else }}
{{ include "curbcut.secretEnv" (dict "name" "MONGODB_URL" "secret" $own "key" "mongodb-url") }}
{{- end }}
{{- with include "curbcut.natsUrl" . }}
- { name: NATS_URL, value: {{ . | quote }} }
{{- end }}
{{- if include "curbcut.natsCredentials" . }}
- { name: NATS_CREDENTIALS_FILE, value: /run/nats/user.creds }
{{- end }}
- { name: S3_ENDPOINT, value: {{ include "curbcut.s3Endpoint" . | quote }} }
- { name: S3_REGION, value: {{ .Values.s3.region | quote }} }
- { name: S3_BUCKET, value: {{ ternary "curbcut" .Values.s3.bucket $evaluation | quote }} }
{{- if $evaluation }}
- { name: S3_ACCESS_KEY_ID, value: curbcut-evaluation }
{{ include "curbcut.secretEnv" (dict "name" "S3_SECRET_ACCESS_KEY" "secret" (include "curbcut.evaluationName" .) "key" "s3-secret-access-key") }}
{{- else if .Values.s3.existingSecret.name }}
{{ include "curbcut.secretEnv" (dict "name" "S3_ACCESS_KEY_ID" "secret" .Values.s3.existingSecret.name "key" .Values.s3.existingSecret.accessKeyIdKey) }}
{{ include "curbcut.secretEnv" (dict "name" "S3_SECRET_ACCESS_KEY" "secret" .Values.s3.existingSecret.name "key" .Values.s3.existingSecret.secretAccessKeyKey) }}
{{- else }}
{{ include "curbcut.secretEnv" (dict "name" "S3_ACCESS_KEY_ID" "secret" $own "key" "s3-access-key-id") }}
{{ include "curbcut.secretEnv" (dict "name" "S3_SECRET_ACCESS_KEY" "secret" $own "key" "s3-secret-access-key") }}
{{- end }}
- { name: PUBLIC_BASE_URL, value: {{ include "curbcut.publicBaseUrl" . | quote }} }
{{- if $evaluation }}
- { name: SMTP_URL, value: {{ include "curbcut.smtpUrl" . | quote }} }
{{- else if .Values.smtp.existingSecret.name }}
{{ include "curbcut.secretEnv" (dict "name" "SMTP_URL" "secret" .Values.smtp.existingSecret.name "key" .Values.smtp.existingSecret.key) }}
{{- else if .Values.smtp.url }}
{{ include "curbcut.secretEnv" (dict "name" "SMTP_URL" "secret" $own "key" "smtp-url") }}
{{- end }}
{{- with .Values.smtp.from }}
- { name: MAIL_FROM, value: {{ . | quote }} }
{{- end }}
- { name: ALLOW_TARGETS, value: {{ include "curbcut.allowTargets" . | quote }} }
- { name: DENY_TARGETS, value: {{ concat .Values.clusterRanges .Values.targets.deny | join "," | quote }} }
- { name: MAX_PAGES_LIMIT, value: {{ .Values.scans.maxPages | quote }} }
{{- with .Values.tracing.endpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }} }
{{- with $.Values.tracing.headersSecret }}
{{- if .name }}
{{ include "curbcut.secretEnv" (dict "name" "OTEL_EXPORTER_OTLP_HEADERS" "secret" .name "key" .key) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The volumes of a process and their mounts: (dict "root" . "values" .Values.operator "secrets" .Values.webhooks.secrets). In evaluation
mode the Secret with the .creds file is filled after the start, and the mount waits for it. A Secret of webhooks that is missing must
not keep the operator from starting.
*/}}
{{- define "curbcut.volumeMounts" -}}
{{- if include "curbcut.natsCredentials" .root }}
- { name: nats, mountPath: /run/nats, readOnly: true }
{{- end }}
{{- range $index, $secret := .secrets }}
- { name: webhook-{{ $index }}, mountPath: /run/webhooks/{{ $secret }}, readOnly: true }
{{- end }}
{{- with .values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- define "curbcut.volumes" -}}
{{- with include "curbcut.natsCredentials" .root }}
{{- $parts := splitList " " . }}
- name: nats
  secret:
    secretName: {{ first $parts }}
    defaultMode: 0o440
    items: [{ key: {{ last $parts }}, path: user.creds }]
{{- end }}
{{- range $index, $secret := .secrets }}
- name: webhook-{{ $index }}
  secret: { secretName: {{ $secret }}, optional: true, defaultMode: 0o440 }
{{- end }}
{{- with .values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The security contexts of a part: (dict "root" . "values" .Values.api). */}}
{{- define "curbcut.podSecurity" -}}
{{- with mergeOverwrite (deepCopy .root.Values.podSecurityContext) (.values.podSecurityContext | default dict) }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "curbcut.containerSecurity" -}}
{{- with mergeOverwrite (deepCopy .root.Values.securityContext) (.values.securityContext | default dict) }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Scheduling of a process: (dict "root" . "component" "api" "values" .Values.api). */}}
{{- define "curbcut.placement" -}}
{{- if not (kindIs "invalid" .values.topologySpreadConstraints) }}
topologySpreadConstraints: {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
{{- else }}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: { matchLabels: { {{ include "curbcut.selector" $ | trim | replace "\n" ", " }} } }
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{/* The default PriorityClass of scans. It is cluster-scoped, so its name contains the release. */}}
{{- define "curbcut.priorityClass" -}}
{{- with .Values.scanner -}}
{{- if .priorityClassName }}{{ .priorityClassName }}{{ else if .priorityClass.create }}{{ $.Release.Namespace }}-{{ include "curbcut.name" $ }}-scans{{ end -}}
{{- end -}}
{{- end }}

{{/* The operator's Lease: each class has its own leader. */}}
{{- define "curbcut.lease" -}}
{{- eq .Values.scans.class "curbcut" | ternary "curbcut-operator" (print "curbcut-operator-" .Values.scans.class) -}}
{{- end }}

{{/* What the pods of scans have, as the operator's SCANNER_POD_TEMPLATE. */}}
{{- define "curbcut.scannerPod" -}}
{{- $scanner := .Values.scanner }}
{{- $fields := dict
  "labels" (merge (deepCopy $scanner.podLabels) .Values.commonLabels)
  "annotations" $scanner.podAnnotations
  "imagePullSecrets" (include "curbcut.pullSecretList" . | fromJsonArray)
  "resources" $scanner.resources
  "nodeSelector" $scanner.nodeSelector
  "tolerations" $scanner.tolerations
  "affinity" $scanner.affinity
  "topologySpreadConstraints" $scanner.topologySpreadConstraints
  "priorityClassName" (include "curbcut.priorityClass" .)
  "runtimeClassName" $scanner.runtimeClassName
  "podSecurityContext" $scanner.podSecurityContext
  "securityContext" $scanner.securityContext
  "env" $scanner.extraEnv
  "volumes" $scanner.extraVolumes
  "volumeMounts" $scanner.extraVolumeMounts }}
{{- range $name, $value := $fields }}{{ if not $value }}{{ $_ := unset $fields $name }}{{ end }}{{ end }}
{{- toJson $fields }}
{{- end }}
