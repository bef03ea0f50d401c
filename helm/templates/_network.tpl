{{/*
One egress rule for an address: (dict "root" . "url" … "port" default "conf" .Values.networkPolicy.x "name" "x" "closed" true).
A Service (mongodb.data.svc), one of its pods (mongodb-0.mongodb.data.svc) or a name without dots allows the pods of its
namespace, and an IP address allows itself. Every other name needs networkPolicy.NAME.to: the chart must not open any address
silently. If "closed" is true, such a name allows nothing; the rule for the public internet then applies to it.
*/}}
{{- define "curbcut.egressTo" -}}
{{- $hosts := regexReplaceAll "^[^:]+://([^/?#]*@)?([^/?#]*).*$" .url "${2}" | splitList "," | compact }}
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
{{- with .root.Values.outboundProxy }}{{ if and (or .url .existingSecret.name (and (eq $.part "scanners") (or .scannerUrl .scannerExistingSecret.name))) (index . $.part) }}true{{ end }}{{ end }}
{{- end }}

{{/*
The account at the outbound proxy of a part: (dict "root" . "part" "scanners"), as JSON: its url, or the secret with it, and the key.
*/}}
{{- define "curbcut.proxyAccount" -}}
{{- $proxy := .root.Values.outboundProxy }}
{{- $own := and (eq .part "scanners") (ne (print $proxy.scannerUrl $proxy.scannerExistingSecret.name) "") }}
{{- $secret := $own | ternary $proxy.scannerExistingSecret $proxy.existingSecret }}
{{- if $secret.name }}{{ dict "url" "" "secret" $secret.name "key" $secret.key | toJson }}
{{- else }}{{ dict "url" ($own | ternary $proxy.scannerUrl $proxy.url) "secret" "" "key" ($own | ternary "scanner-proxy-url" "proxy-url") | toJson }}
{{- end }}
{{- end }}

{{/* What is reached without the proxy, as a JSON list: the cluster, this machine, hosts of the values without a dot, and noProxy. */}}
{{- define "curbcut.noProxy" -}}
{{- $direct := list ".svc" ".cluster.local" "localhost" "127.0.0.1" "[::1]" }}
{{- with .Values }}
{{- range list .s3.endpoint .s3.podEndpoint .s3.workloadIdentity.stsEndpoint .smtp.url .oidc.issuer .turnstile.verifyUrl .tracing.endpoint .tracing.scannerEndpoint }}
{{- $host := include "curbcut.hostOf" . }}
{{- if and $host (not (regexMatch "[.:]" $host)) }}{{ $direct = append $direct $host }}{{ end }}
{{- end }}
{{- concat $direct .outboundProxy.noProxy | uniq | toJson }}
{{- end }}
{{- end }}
{{- define "curbcut.hostOf" -}}
{{ regexReplaceAll "^[^:]+://([^/?#]*@)?(\\[[^\\]]*\\]|[^/?#:]*).*$" . "${2}" }}
{{- end }}

{{/*
Whether the connections of a part to an address leave through the proxy: (dict "root" . "part" "services" "url" … "port" default).
"true" or empty. Empty if the address is unknown, because it is in a Secret.
*/}}
{{- define "curbcut.throughProxy" -}}
{{- if and .url (include "curbcut.proxied" .) }}
{{- $host := include "curbcut.hostOf" .url | lower }}
{{- $given := regexFind ":[0-9]+$" (regexReplaceAll "^[^:]+://([^/?#]*@)?([^/?#]*).*$" .url "${2}") | trimPrefix ":" }}
{{- $port := $given | default (print .port) }}
{{- $through := true }}
{{- range include "curbcut.noProxy" .root | fromJsonArray }}
{{- $itemPort := regexMatch "^([^:]+|\\[.*\\]):[0-9]+$" . | ternary (regexFind "[0-9]+$" .) $port }}
{{- $item := regexReplaceAll "^([^:]+|\\[.*\\]):[0-9]+$" . "${1}" | lower | trimPrefix "*" }}
{{- if and (eq $itemPort $port) (or (eq $item "") (eq $item $host) (eq (printf "[%s]" $item) $host) (and (hasPrefix "." $item) (hasSuffix $item $host))) }}{{ $through = false }}{{ end }}
{{- end }}
{{- if $through }}true{{ end }}
{{- end }}
{{- end }}

{{/*
The egress rule of a service for an address, which needs none if it leaves through the proxy: (dict "root" . "url" … "port" default "name" "s3").
*/}}
{{- define "curbcut.egressOfService" -}}
{{- $through := include "curbcut.throughProxy" (merge (dict "part" "services") .) | eq "true" }}
{{- include "curbcut.egressTo" (merge (dict "conf" (index .root.Values.networkPolicy .name) "closed" $through) .) }}
{{- end }}

{{/* The same for scanners, which reach public addresses without a rule unless they have a proxy. */}}
{{- define "curbcut.egressOfScanner" -}}
{{- $scanners := merge (dict "part" "scanners") . }}
{{- $closed := or (not (include "curbcut.proxied" $scanners)) (include "curbcut.throughProxy" $scanners) | not | not }}
{{- include "curbcut.egressTo" (merge (dict "conf" (index .root.Values.networkPolicy .name) "closed" $closed) .) }}
{{- end }}

{{/* The outbound proxy, if the connections of a part leave through it: (dict "root" . "part" "services"). */}}
{{- define "curbcut.egressProxy" -}}
{{- if include "curbcut.proxied" . }}
# The outbound proxy.
{{- $url := (include "curbcut.proxyAccount" . | fromJson).url }}
{{ include "curbcut.egressTo" (dict "root" .root "url" $url "port" ($url | empty | ternary 3128 80) "conf" .root.Values.networkPolicy.proxy "name" "proxy" "closed" false) | trim }}
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
{{ include "curbcut.egressOfService" (dict "root" . "url" $sts "port" (hasPrefix "https:" $sts | ternary 443 80) "name" "sts") | trim }}
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
