{{/* The reference of an image: (dict "root" . "image" .Values.api.image). */}}
{{- define "curbcut.image" -}}
{{- $registry := .image.registry | default .root.Values.global.imageRegistry | default .root.Values.image.registry -}}
{{- with $registry }}{{ . }}/{{ end }}{{ .image.repository }}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ .image.tag | default .root.Values.image.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}
{{- define "curbcut.pullPolicy" -}}
{{ .image.pullPolicy | default .root.Values.image.pullPolicy }}
{{- end }}

{{/* The pull Secrets of every pod, as a JSON list of objects. */}}
{{- define "curbcut.pullSecretList" -}}
{{- $own := .Values.imageCredentials.registry | empty | ternary list (list (dict "name" (include "curbcut.registryName" .))) }}
{{- concat .Values.global.imagePullSecrets .Values.imagePullSecrets $own | uniq | toJson }}
{{- end }}
{{- define "curbcut.pullSecrets" -}}
{{- with include "curbcut.pullSecretList" . | fromJsonArray }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{/* The Secret with the registry credentials of the values. */}}
{{- define "curbcut.registryName" -}}
{{ include "curbcut.name" . }}-registry
{{- end }}
