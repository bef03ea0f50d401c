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
{{ dict "app.kubernetes.io/name" (include "curbcut.chartName" .root) "app.kubernetes.io/instance" .root.Release.Name "app.kubernetes.io/component" .component | toYaml }}
{{- end }}

{{/* Labels of an object: (dict "root" . "component" "api" "more" .Values.api.podLabels). */}}
{{- define "curbcut.labels" -}}
{{- $own := dict
  "app.kubernetes.io/part-of" "curbcut"
  "app.kubernetes.io/version" .root.Chart.AppVersion
  "app.kubernetes.io/managed-by" .root.Release.Service
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) }}
{{- include "curbcut.merged" (list (include "curbcut.selector" . | fromYaml) $own .more .root.Values.commonLabels) }}
{{- end }}

{{/* One map of strings from several. Earlier ones take precedence. A value that is null removes its key. */}}
{{- define "curbcut.merged" -}}
{{- $merged := dict }}
{{- range . }}{{ range $name, $value := . }}{{ if not (hasKey $merged $name) }}{{ $_ := set $merged $name $value }}{{ end }}{{ end }}{{ end }}
{{- range $name, $value := $merged }}{{ if kindIs "invalid" $value }}{{ $_ := unset $merged $name }}{{ end }}{{ end }}
{{- with $merged }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* The annotations of a process's pods: (dict "root" . "values" .Values.api). */}}
{{- define "curbcut.podAnnotations" -}}
{{- $checksum := dict "checksum/connections" (include (print .root.Template.BasePath "/connections.yaml") .root | sha256sum) }}
{{- $scrape := .root.Values.metrics.annotations | ternary (dict "prometheus.io/scrape" "true" "prometheus.io/port" "9090" "prometheus.io/path" "/metrics") dict }}
{{- include "curbcut.merged" (list $checksum .values.podAnnotations $scrape) }}
{{- end }}

{{/* The chart's variables of a process and extraEnv, which may not repeat them: (dict "component" "api" "own" … "extra" .Values.api.extraEnv). */}}
{{- define "curbcut.env" -}}
{{- $names := list }}
{{- range .own | fromYamlArray }}{{ $names = append $names (trimSuffix "_FILE" .name) }}{{ end }}
{{- range .extra }}
{{- if has (trimSuffix "_FILE" .name) $names }}{{ fail (printf "\n\n%s.extraEnv sets %s, which the chart itself sets: change the value that it comes from" $.component .name) }}{{ end }}
{{- end }}
{{- trim .own }}
{{- with .extra }}
{{ toYaml . }}
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

{{/* The Secret with the plain values of mongodb, nats, s3, smtp and outboundProxy. */}}
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
{{/* Whether TLS ends at the HTTPRoute's Gateway, or at the Ingress for this host: (dict "root" . "host" …). "true" or empty. */}}
{{- define "curbcut.hasTls" -}}
{{- $found := not .root.Values.api.ingress.enabled }}
{{- $wildcard := regexReplaceAll "^[^.]+" .host "*" }}
{{- range .root.Values.api.ingress.tls }}{{ if or (not .hosts) (has $.host .hosts) (has $wildcard .hosts) }}{{ $found = true }}{{ end }}{{ end }}
{{- if $found }}true{{ end }}
{{- end }}
{{- define "curbcut.publicBaseUrl" -}}
{{- $host := include "curbcut.publicHost" . }}
{{- if .Values.api.publicBaseUrl }}{{ .Values.api.publicBaseUrl -}}
{{- else if hasPrefix "*" $host }}{{ fail (printf "\n\napi.publicBaseUrl is not set: the address that people open cannot be derived from %s" $host) }}
{{- else if $host }}{{ .Values.api.publicScheme | default (include "curbcut.hasTls" (dict "root" . "host" $host) | eq "true" | ternary "https" "http") }}://{{ $host -}}
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

{{/*
The settings that a process reads from files of Secrets and ConfigMaps, and reads again when they change: a JSON list of {name, kind,
source, key}. (dict "root" . "component" "api").
*/}}
{{- define "curbcut.fileSettings" -}}
{{- $values := .root.Values }}
{{- $evaluation := $values.evaluation.enabled }}
{{- $own := include "curbcut.connectionsName" .root }}
{{- $ofEvaluation := include "curbcut.evaluationName" .root }}
{{- $settings := list }}
{{- if $evaluation }}
{{- $settings = append $settings (dict "name" "S3_SECRET_ACCESS_KEY" "source" $ofEvaluation "key" "s3-secret-access-key") }}
{{- $settings = append $settings (dict "name" "NATS_CREDENTIALS" "source" $ofEvaluation "key" "service.creds") }}
{{- else }}
{{- $mongodb := $values.mongodb.existingSecret }}
{{- $settings = append $settings (dict "name" "MONGODB_URL" "source" ($mongodb.name | default $own) "key" (ternary $mongodb.key "mongodb-url" (ne $mongodb.name ""))) }}
{{- if not (include "curbcut.workloadIdentity" .root) }}
{{- $s3 := $values.s3.existingSecret }}
{{- $settings = append $settings (dict "name" "S3_ACCESS_KEY_ID" "source" ($s3.name | default $own) "key" (ternary $s3.accessKeyIdKey "s3-access-key-id" (ne $s3.name ""))) }}
{{- $settings = append $settings (dict "name" "S3_SECRET_ACCESS_KEY" "source" ($s3.name | default $own) "key" (ternary $s3.secretAccessKeyKey "s3-secret-access-key" (ne $s3.name ""))) }}
{{- end }}
{{- $nats := $values.nats.existingSecret }}
{{- if and $nats.name $nats.credentialsKey }}{{ $settings = append $settings (dict "name" "NATS_CREDENTIALS" "source" $nats.name "key" $nats.credentialsKey) }}
{{- else if and (not $nats.name) $values.nats.credentials }}{{ $settings = append $settings (dict "name" "NATS_CREDENTIALS" "source" $own "key" "nats.creds") }}
{{- end }}
{{- $smtp := $values.smtp.existingSecret }}
{{- if and (eq .component "api") (or $smtp.name $values.smtp.url) }}{{ $settings = append $settings (dict "name" "SMTP_URL" "source" ($smtp.name | default $own) "key" (ternary $smtp.key "smtp-url" (ne $smtp.name ""))) }}{{ end }}
{{- end }}
{{- if and $values.tracing.endpoint $values.tracing.headersSecret.name }}
{{- $settings = append $settings (dict "name" "OTEL_EXPORTER_OTLP_HEADERS" "source" $values.tracing.headersSecret.name "key" $values.tracing.headersSecret.key) }}
{{- end }}
{{- range $name, $bundle := dict "PRIVATE_CA" $values.privateCA.services "SITE_CA" $values.privateCA.sites }}
{{- if and (or $bundle.configMap $bundle.secret) (or (eq $name "PRIVATE_CA") (eq $.component "operator")) }}
{{- $settings = append $settings (dict "name" $name "kind" (ternary "configMap" "secret" (ne $bundle.configMap "")) "source" ($bundle.configMap | default $bundle.secret) "key" $bundle.key) }}
{{- end }}
{{- end }}
{{- range $name, $part := dict "HTTPS_PROXY" "services" "SCANNER_HTTPS_PROXY" "scanners" }}
{{- if and (include "curbcut.proxied" (dict "root" $.root "part" $part)) (or (eq $part "services") (eq $.component "operator")) }}
{{- $account := include "curbcut.proxyAccount" (dict "root" $.root "part" $part) | fromJson }}
{{- $settings = append $settings (dict "name" $name "source" ($account.secret | default $own) "key" $account.key) }}
{{- end }}
{{- end }}
{{- if eq .component "api" }}
{{- with $values.oidc }}{{ if .issuer }}{{ $settings = append $settings (dict "name" "OIDC_CLIENT_SECRET" "source" .existingSecret.name "key" .existingSecret.key) }}{{ end }}{{ end }}
{{- with $values.turnstile }}{{ if .siteKey }}{{ $settings = append $settings (dict "name" "TURNSTILE_SECRET_KEY" "source" .existingSecret.name "key" .existingSecret.key) }}{{ end }}{{ end }}
{{- else if $evaluation }}{{ $settings = append $settings (dict "name" "NATS_SIGNING_SEED" "source" $ofEvaluation "key" "nats-signing-seed") }}
{{- else if and $values.nats.existingSecret.name $values.nats.existingSecret.signingSeedKey }}{{ $settings = append $settings (dict "name" "NATS_SIGNING_SEED" "source" $values.nats.existingSecret.name "key" $values.nats.existingSecret.signingSeedKey) }}
{{- else if and (not $values.nats.existingSecret.name) $values.nats.signingSeed }}{{ $settings = append $settings (dict "name" "NATS_SIGNING_SEED" "source" $own "key" "nats-signing-seed") }}
{{- end }}
{{- $settings | toJson }}
{{- end }}

{{/* How sessions at the object store are obtained instead of an access key: "role", "agent" or empty. */}}
{{- define "curbcut.workloadIdentity" -}}
{{- with .Values.s3.workloadIdentity }}{{ if .roleArn }}role{{ else if .podIdentity }}agent{{ end }}{{ end }}
{{- end }}

{{/* One variable from a Secret: (dict "name" … "secret" … "key" …). */}}
{{- define "curbcut.secretEnv" -}}
- name: {{ .name }}
  valueFrom: { secretKeyRef: { name: {{ .secret }}, key: {{ .key }} } }
{{- end }}

{{/* Environment variables of both API and operator: (dict "root" . "component" "api"). */}}
{{- define "curbcut.commonEnv" -}}
{{- range include "curbcut.fileSettings" . | fromJsonArray }}
- { name: {{ .name }}_FILE, value: /run/curbcut/{{ .name }} }
{{- end }}
{{- with .root }}
{{- $evaluation := .Values.evaluation.enabled }}
- { name: HOST, value: '::' }
- { name: CURBCUT_NAMESPACE, value: {{ include "curbcut.scansNamespace" . | quote }} }
- { name: CURBCUT_CLASS, value: {{ .Values.scans.class | quote }} }
{{- if $evaluation }}
- { name: MONGODB_URL, value: {{ include "curbcut.mongodbUrl" . | quote }} }
{{- end }}
{{- with include "curbcut.natsUrl" . }}
- { name: NATS_URL, value: {{ . | quote }} }
{{- end }}
- { name: S3_ENDPOINT, value: {{ include "curbcut.s3Endpoint" . | quote }} }
- { name: S3_REGION, value: {{ .Values.s3.region | quote }} }
- { name: S3_BUCKET, value: {{ ternary "curbcut" .Values.s3.bucket $evaluation | quote }} }
{{- if $evaluation }}
- { name: S3_ACCESS_KEY_ID, value: curbcut-evaluation }
{{- else if eq (include "curbcut.workloadIdentity" .) "role" }}
{{- with .Values.s3.workloadIdentity }}
- { name: AWS_ROLE_ARN, value: {{ .roleArn | quote }} }
- { name: AWS_WEB_IDENTITY_TOKEN_FILE, value: /run/identity/token }
- { name: S3_SESSION_SECONDS, value: {{ .sessionSeconds | int64 | quote }} }
{{- with .stsEndpoint }}
- { name: AWS_ENDPOINT_URL_STS, value: {{ . | quote }} }
{{- end }}
{{- end }}
{{- end }}
- { name: PUBLIC_BASE_URL, value: {{ include "curbcut.publicBaseUrl" . | quote }} }
- { name: ALLOW_TARGETS, value: {{ include "curbcut.allowTargets" . | quote }} }
- { name: DENY_TARGETS, value: {{ concat .Values.clusterRanges .Values.targets.deny | join "," | quote }} }
- { name: MAX_PAGES_LIMIT, value: {{ .Values.scans.maxPages | quote }} }
{{- with .Values.tracing.endpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }} }
{{- end }}
{{- if include "curbcut.proxied" (dict "root" . "part" "services") }}
- { name: NO_PROXY, value: {{ include "curbcut.noProxy" . | fromJsonArray | join "," | quote }} }
{{- end }}
{{- end }}
{{- end }}

{{/*
The volumes of a process and their mounts: (dict "root" . "component" "operator" "values" .Values.operator "secrets"
.Values.webhooks.secrets). In evaluation mode the Secret with credentials is filled after the start, and the mount waits for it. A Secret
of webhooks that is missing must not keep the operator from starting.
*/}}
{{- define "curbcut.volumeMounts" -}}
- { name: settings, mountPath: /run/curbcut, readOnly: true }
{{- if eq (include "curbcut.workloadIdentity" .root) "role" }}
- { name: identity, mountPath: /run/identity, readOnly: true }
{{- end }}
{{- range $index, $secret := .secrets }}
- { name: webhook-{{ $index }}, mountPath: /run/webhooks/{{ $secret }}, readOnly: true }
{{- end }}
{{- with .values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- define "curbcut.volumes" -}}
# One volume, so that the kubelet updates all settings at once. Only this pod has it, and its user may be of any ID and group.
- name: settings
  projected:
    defaultMode: 0o444
    sources:
      {{- range include "curbcut.fileSettings" . | fromJsonArray }}
      - {{ .kind | default "secret" }}: { name: {{ .source }}, items: [{ key: {{ .key }}, path: {{ .name }} }] }
      {{- end }}
{{- if eq (include "curbcut.workloadIdentity" .root) "role" }}
- name: identity
  projected:
    defaultMode: 0o444
    sources:
      - serviceAccountToken: { path: token, audience: {{ .root.Values.s3.workloadIdentity.audience | quote }}, expirationSeconds: 3600 }
{{- end }}
{{- range $index, $secret := .secrets }}
- name: webhook-{{ $index }}
  secret: { secretName: {{ $secret }}, optional: true, defaultMode: 0o444 }
{{- end }}
{{- with .values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The security contexts of a part: (dict "root" . "values" .Values.api). */}}
{{- define "curbcut.podSecurity" -}}
{{- $shared := .root.Values.openshift | ternary (omit .root.Values.podSecurityContext "runAsUser" "runAsGroup" "fsGroup") .root.Values.podSecurityContext }}
{{- with mergeOverwrite (deepCopy $shared) (.values.podSecurityContext | default dict) }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "curbcut.containerSecurity" -}}
{{- with mergeOverwrite (deepCopy .root.Values.securityContext) (.values.securityContext | default dict) }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The nodes of a pod. The images are for Linux, and clusters may have Windows nodes without a taint. */}}
{{- define "curbcut.nodes" }}
nodeSelector: {{- include "curbcut.merged" (list . (dict "kubernetes.io/os" "linux")) | nindent 2 }}
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
{{- include "curbcut.nodes" .values.nodeSelector }}
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
  "labels" (include "curbcut.merged" (list $scanner.podLabels .Values.commonLabels) | fromYaml)
  "annotations" (include "curbcut.merged" (list $scanner.podAnnotations) | fromYaml)
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
