{{/* Names and labels. */}}
{{- define "curbcut.name" -}}
{{- if contains "curbcut" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-curbcut" (.Release.Name | trunc 32 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "curbcut.selector" -}}
app.kubernetes.io/name: curbcut
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "curbcut.labels" -}}
{{ include "curbcut.selector" . }}
app.kubernetes.io/part-of: curbcut
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
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

{{/* The reference of an image: (dict "root" . "name" "service"). */}}
{{- define "curbcut.image" -}}
{{- $whole := index .root.Values.images .name -}}
{{- $whole | default (printf "%s/%s:%s" .root.Values.images.prefix .name (.root.Values.images.tag | default .root.Chart.AppVersion)) -}}
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

{{- define "curbcut.publicBaseUrl" -}}
{{- if .Values.api.publicBaseUrl }}{{ .Values.api.publicBaseUrl -}}
{{- else if .Values.api.ingress.enabled }}{{ ternary "https" "http" (ne .Values.api.ingress.tlsSecret "") }}://{{ .Values.api.ingress.host -}}
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

{{/* The .creds file as a volume. In evaluation mode its Secret is filled after the start, and the mount waits for it. */}}
{{- define "curbcut.volumeMounts" -}}
{{- if include "curbcut.natsCredentials" . }}
volumeMounts:
  - { name: nats, mountPath: /run/nats, readOnly: true }
{{- end }}
{{- end }}
{{- define "curbcut.volumes" -}}
{{- with include "curbcut.natsCredentials" . }}
{{- $parts := splitList " " . }}
volumes:
  - name: nats
    secret:
      secretName: {{ first $parts }}
      defaultMode: 0o440
      items: [{ key: {{ last $parts }}, path: user.creds }]
{{- end }}
{{- end }}

{{- define "curbcut.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- end }}
{{- define "curbcut.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- define "curbcut.pullSecrets" -}}
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Scheduling of a process: (dict "root" . "component" "api" "values" .Values.api). */}}
{{- define "curbcut.placement" -}}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: { matchLabels: { {{ include "curbcut.selector" $ | trim | replace "\n" ", " }} } }
    matchLabelKeys: [pod-template-hash]
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

{{/* Fails if a required value is missing. */}}
{{- define "curbcut.check" -}}
{{- if not .Values.evaluation.enabled }}
{{- if not (or .Values.mongodb.url .Values.mongodb.existingSecret.name) }}{{ fail "\n\nmongodb.url (or mongodb.existingSecret.name) is not set: Curbcut stores scans in MongoDB. To evaluate Curbcut without it: --set evaluation.enabled=true" }}{{ end }}
{{- if not .Values.s3.endpoint }}{{ fail "\n\ns3.endpoint is not set: Curbcut stores reports in an S3-compatible object store. To evaluate Curbcut without it: --set evaluation.enabled=true" }}{{ end }}
{{- if not .Values.s3.bucket }}{{ fail "\n\ns3.bucket is not set: name an existing bucket" }}{{ end }}
{{- if not (or (and .Values.s3.accessKeyId .Values.s3.secretAccessKey) .Values.s3.existingSecret.name) }}{{ fail "\n\ns3.accessKeyId and s3.secretAccessKey (or s3.existingSecret.name) are not set" }}{{ end }}
{{- end }}
{{- if and .Values.api.ingress.enabled (not .Values.api.ingress.host) }}{{ fail "\n\napi.ingress.host is not set" }}{{ end }}
{{- if and .Values.api.ingress.enabled (not .Values.api.trustedProxies) }}{{ fail "\n\napi.trustedProxies is not set: without it every client behind the ingress has the address of the ingress controller, and one client's failed sign-ins count for all. List the addresses of the controller's pods, for example the pod network: --set 'api.trustedProxies={10.244.0.0/16}' (docs/install.md)" }}{{ end }}
{{- if and .Values.publicScans.enabled (not .Values.evaluation.enabled) (not (or .Values.smtp.url .Values.smtp.existingSecret.name)) }}{{ fail "\n\npublicScans.enabled needs a mail server, because results are sent by mail: set smtp.url or smtp.existingSecret.name" }}{{ end }}
{{- if and .Values.evaluation.enabled (or .Values.mongodb.url .Values.mongodb.existingSecret.name .Values.s3.endpoint .Values.nats.url .Values.smtp.url .Values.smtp.existingSecret.name) }}{{ fail "\n\nevaluation.enabled brings its own MongoDB, NATS, S3 and mail server: leave theirs unset, or the evaluation off" }}{{ end }}
{{- with .Values.oidc }}
{{- $set := compact (list .issuer .clientId .existingSecret.name) }}
{{- if and $set (ne (len $set) 3) }}{{ fail "\n\noidc.issuer, oidc.clientId and oidc.existingSecret.name belong together: set all of them, or none" }}{{ end }}
{{- end }}
{{- with .Values.turnstile }}
{{- $set := compact (list .siteKey .existingSecret.name) }}
{{- if and $set (ne (len $set) 2) }}{{ fail "\n\nturnstile.siteKey and turnstile.existingSecret.name belong together: set both, or none" }}{{ end }}
{{- end }}
{{- end }}

{{/* The default PriorityClass of scans. It is cluster-scoped, so its name contains the release. */}}
{{- define "curbcut.priorityClass" -}}
{{- with .Values.scanner.priorityClass -}}
{{- if .name }}{{ .name }}{{ else if .create }}{{ $.Release.Namespace }}-{{ include "curbcut.name" $ }}-scans{{ end -}}
{{- end -}}
{{- end }}

{{/* The operator's Lease: each class has its own leader. */}}
{{- define "curbcut.lease" -}}
{{- eq .Values.scans.class "curbcut" | ternary "curbcut-operator" (print "curbcut-operator-" .Values.scans.class) -}}
{{- end }}
