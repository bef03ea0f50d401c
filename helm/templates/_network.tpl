{{/*
One egress rule for an address: (dict "url" … "port" default "conf" .Values.networkPolicy.x "closed" true).
A host in the cluster allows the pods of its namespace, an IPv4 address allows itself, any other name allows any address. If
"closed" is true, any other name allows nothing; the rule for the public internet then applies to it.
*/}}
{{- define "curbcut.egressTo" -}}
{{- $hosts := regexReplaceAll "^[^:]+://([^@/]*@)?([^/?]*).*$" .url "${2}" | splitList "," | compact }}
{{- $peers := list }}
{{- $ports := list }}
{{- $any := not $hosts }}
{{- range $hosts }}
{{- $host := regexReplaceAll ":[0-9]+$" . "" }}
{{- $ports = append $ports (regexMatch ":[0-9]+$" . | ternary (regexFind "[0-9]+$" . | int) ($.port | int)) }}
{{- if regexMatch "^[^.]+\\.[^.]+\\.svc(\\.|$)" $host }}
{{- $peers = append $peers (dict "namespaceSelector" (dict "matchLabels" (dict "kubernetes.io/metadata.name" (index (splitList "." $host) 1)))) }}
{{- else if regexMatch "^[0-9]+(\\.[0-9]+){3}$" $host }}
{{- $peers = append $peers (dict "ipBlock" (dict "cidr" (print $host "/32"))) }}
{{- else }}
{{- $any = true }}
{{- end }}
{{- end }}
{{- with .conf.to }}{{ $peers = . }}{{ $any = false }}{{ end }}
{{- $ports = .conf.ports | default ($ports | default (list (.port | int))) | uniq }}
{{- if or (not $any) (and $peers $.closed) (not $.closed) }}
- {{ if not $any }}to: {{ $peers | uniq | toJson }}
  {{ else if $.closed }}to: {{ $peers | uniq | toJson }}
  {{ end }}ports:
    {{- range $ports }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end }}
{{- end }}

{{/* DNS. Without the usual Service, name servers may have any address except that of the metadata service. */}}
{{- define "curbcut.egressDns" -}}
{{- $usual := lookup "v1" "Service" "kube-system" "kube-dns" }}
{{- $inCluster := list (dict "namespaceSelector" (dict "matchLabels" (dict "kubernetes.io/metadata.name" "kube-system"))) (dict "ipBlock" (dict "cidr" "169.254.20.10/32")) }}
{{- $anywhere := list (dict "ipBlock" (dict "cidr" "0.0.0.0/0" "except" (list "169.254.169.254/32"))) (dict "ipBlock" (dict "cidr" "::/0")) }}
- to: {{ .Values.networkPolicy.dns.to | default (ternary $inCluster $anywhere (not (empty $usual))) | toJson }}
  ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
{{- end }}

{{- define "curbcut.egressKubernetes" -}}
- {{ with .Values.networkPolicy.kubernetesApi.to }}to: {{ toJson . }}
  {{ end }}ports:
    {{- range .Values.networkPolicy.kubernetesApi.ports }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end }}

{{/* Ranges that are not public: private, shared, loopback, link-local (metadata), benchmarking, multicast and reserved ranges, Azure's metadata. */}}
{{- define "curbcut.notPublic" -}}
{{ concat (list "0.0.0.0/8" "10.0.0.0/8" "100.64.0.0/10" "127.0.0.0/8" "168.63.129.16/32" "169.254.0.0/16" "172.16.0.0/12" "192.0.0.0/24" "192.168.0.0/16" "198.18.0.0/15" "224.0.0.0/4" "240.0.0.0/4") .Values.clusterRanges .Values.targets.deny | uniq | toJson }}
{{- end }}
