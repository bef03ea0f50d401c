{{/*
One egress rule for an address: (dict "root" . "url" … "port" default "conf" .Values.networkPolicy.x "name" "x" "closed" true).
A Service (mongodb.data.svc), one of its pods (mongodb-0.mongodb.data.svc) or a name without dots allows the pods of its
namespace, and an IP address allows itself. Every other name needs networkPolicy.NAME.to: the chart must not open any address
silently. If "closed" is true, such a name allows nothing; the rule for the public internet then applies to it.
*/}}
{{- define "curbcut.egressTo" -}}
{{- $hosts := regexReplaceAll "^[^:]+://([^@/]*@)?([^/?]*).*$" .url "${2}" | splitList "," | compact }}
{{- $peers := list }}
{{- $ports := list }}
{{- $unknown := $hosts | empty | ternary (list "an address in a Secret") list }}
{{- range $hosts }}
{{- $host := regexReplaceAll ":[0-9]+$" . "" | trimPrefix "[" | trimSuffix "]" }}
{{- $ports = append $ports (regexMatch ":[0-9]+$" . | ternary (regexFind "[0-9]+$" . | int) ($.port | int)) }}
{{- if regexMatch "^([^.]+\\.){2,3}svc(\\.|$)" $host }}
{{- $namespace := regexReplaceAll "^.*?([^.]+)\\.svc(\\..*)?$" $host "${1}" }}
{{- $peers = append $peers (dict "namespaceSelector" (dict "matchLabels" (dict "kubernetes.io/metadata.name" $namespace))) }}
{{- else if regexMatch "^[0-9]+(\\.[0-9]+){3}$" $host }}
{{- $peers = append $peers (dict "ipBlock" (dict "cidr" (print $host "/32"))) }}
{{- else if contains ":" $host }}
{{- $peers = append $peers (dict "ipBlock" (dict "cidr" (print $host "/128"))) }}
{{- else if not (contains "." $host) }}
{{- $peers = append $peers (dict "namespaceSelector" (dict "matchLabels" (dict "kubernetes.io/metadata.name" $.root.Release.Namespace))) }}
{{- else }}
{{- $unknown = append $unknown $host }}
{{- end }}
{{- end }}
{{- with .conf.to }}{{ $peers = . }}{{ $unknown = list }}{{ end }}
{{- if and $unknown (not .closed) }}
{{- fail (printf "\n\nnetworkPolicy.%s.to is not set: the chart cannot derive the network of %s. List its addresses, such as [{ipBlock: {cidr: 203.0.113.0/24}}], or allow any address: [{ipBlock: {cidr: 0.0.0.0/0}}]" .name (join ", " $unknown)) }}
{{- end }}
{{- with $peers | uniq }}
- to: {{ toJson . }}
  ports:
    {{- range $.conf.ports | default ($ports | default (list ($.port | int))) | uniq }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end }}
{{- end }}

{{/* Whether the connections of a part leave through the outbound proxy: (dict "root" . "part" "services"). "true" or empty. */}}
{{- define "curbcut.proxied" -}}
{{- with .root.Values.outboundProxy }}{{ if and (or .url .existingSecret.name) (index . $.part) }}true{{ end }}{{ end }}
{{- end }}

{{/* The outbound proxy, if the connections of a part leave through it: (dict "root" . "part" "services"). */}}
{{- define "curbcut.egressProxy" -}}
{{- if include "curbcut.proxied" . }}
{{- with .root }}
# The outbound proxy.
{{- $url := .Values.outboundProxy.existingSecret.name | empty | ternary .Values.outboundProxy.url "" }}
{{ include "curbcut.egressTo" (dict "root" . "url" $url "port" 3128 "conf" .Values.networkPolicy.proxy "name" "proxy" "closed" false) | trim }}
{{- end }}
{{- end }}
{{- end }}

{{/* What obtains sessions at the object store: the token service, or the agent of EKS on the node. */}}
{{- define "curbcut.egressIdentity" -}}
{{- if eq (include "curbcut.workloadIdentity" .) "agent" }}
# The agent of EKS Pod Identity.
- to: [{ ipBlock: { cidr: 169.254.170.23/32 } }, { ipBlock: { cidr: "fd00:ec2::23/128" } }]
  ports: [{ protocol: TCP, port: 80 }]
{{- else if include "curbcut.workloadIdentity" . }}
{{- $sts := .Values.s3.workloadIdentity.stsEndpoint | default (printf "https://sts.%s.amazonaws.com" .Values.s3.region) }}
{{ include "curbcut.egressTo" (dict "root" . "url" $sts "port" (hasPrefix "https:" $sts | ternary 443 80) "conf" .Values.networkPolicy.sts "name" "sts" "closed" (include "curbcut.proxied" (dict "root" . "part" "services") | eq "true")) | trim }}
{{- end }}
{{- end }}

{{/* DNS. Rendered offline too (helm template, Argo CD), so it must not depend on what a cluster contains. */}}
{{- define "curbcut.egressDns" -}}
{{- $dns := .Values.networkPolicy.dns }}
{{- $servers := dict "namespaceSelector" (dict "matchLabels" (dict "kubernetes.io/metadata.name" $dns.namespace)) }}
{{- with $dns.podLabels }}{{ $_ := set $servers "podSelector" (dict "matchLabels" .) }}{{ end }}
{{- $peers := list $servers }}
{{- range $dns.linkLocal }}{{ $peers = append $peers (dict "ipBlock" (dict "cidr" .)) }}{{ end }}
- to: {{ $dns.to | default $peers | toJson }}
  ports:
    {{- range $dns.ports }}
    - { protocol: UDP, port: {{ . }} }
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end }}

{{/* Probes and metrics. Kubernetes always allows the kubelet of the pod's node. */}}
{{- define "curbcut.ingressMetrics" -}}
{{- with .Values.networkPolicy.metricsFrom }}
- from: {{ toJson . }}
  ports:
    - { protocol: TCP, port: 9090 }
{{- end }}
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

{{/*
Where scanners and webhooks go, at the ports of targets: targets.allow, and without an outbound proxy the public internet.
(dict "root" . "part" "scanners").
*/}}
{{- define "curbcut.egressTargets" -}}
{{- $part := .part }}
{{- with .root }}
{{- if not (include "curbcut.proxied" (dict "root" . "part" $part)) }}
# The allowed ports of targets.
- to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except:
          {{- range include "curbcut.notPublic" . | fromJsonArray }}
          {{- if not (contains ":" .) }}
          - {{ . }}
          {{- end }}
          {{- end }}
    - ipBlock:
        cidr: 2000::/3
        {{- $six := list }}
        {{- range include "curbcut.notPublic" . | fromJsonArray }}{{ if contains ":" . }}{{ $six = append $six . }}{{ end }}{{ end }}
        {{- with $six }}
        except: {{ toJson . }}
        {{- end }}
  ports:
    - { protocol: TCP, port: 80 }
    - { protocol: TCP, port: 443 }
    - { protocol: TCP, port: 1024, endPort: 65535 }
{{- end }}
{{- $allowed := list }}
{{- range .Values.targets.allow }}{{ if regexMatch "^[0-9a-fA-F:.]+/[0-9]+$" . }}{{ $allowed = append $allowed (dict "ipBlock" (dict "cidr" .)) }}{{ else if regexMatch "^[0-9]+(\\.[0-9]+){3}$" . }}{{ $allowed = append $allowed (dict "ipBlock" (dict "cidr" (print . "/32"))) }}{{ end }}{{ end }}
{{- with $allowed }}
# targets.allow
- to: {{ toJson . }}
  ports:
    - { protocol: TCP, port: 80 }
    - { protocol: TCP, port: 443 }
    - { protocol: TCP, port: 1024, endPort: 65535 }
{{- end }}
{{- end }}
{{- end }}
