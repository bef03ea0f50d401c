{{/*
Gives the sections of the values that a values file names and leaves empty their defaults, which Helm takes away. All templates share the
values, and Helm promises no order of them, so each begins with curbcut.check.
*/}}
{{- define "curbcut.sections" -}}
{{- range $path, $defaults := .Files.Get "files/sections.json" | fromJson }}
{{- $parent := $.Values }}
{{- range splitList "." $path | initial }}{{ $parent = index $parent . }}{{ end }}
{{- $name := splitList "." $path | last }}
{{- if not (hasKey $parent $name) }}{{ $_ := set $parent $name $defaults }}{{ end }}
{{- end }}
{{- end }}

{{/* Fails if a required value is missing. */}}
{{- define "curbcut.check" -}}
{{- include "curbcut.sections" . }}
{{- if not .Values.evaluation.enabled }}
{{- if not (or .Values.mongodb.url .Values.mongodb.existingSecret.name) }}{{ fail "\n\nmongodb.url (or mongodb.existingSecret.name) is not set: Curbcut stores scans in MongoDB. To evaluate Curbcut without it: --set evaluation.enabled=true" }}{{ end }}
{{- if not .Values.s3.endpoint }}{{ fail "\n\ns3.endpoint is not set: Curbcut stores reports in an S3-compatible object store. To evaluate Curbcut without it: --set evaluation.enabled=true" }}{{ end }}
{{- if not .Values.s3.bucket }}{{ fail "\n\ns3.bucket is not set: name an existing bucket" }}{{ end }}
{{- if not (or (and .Values.s3.accessKeyId .Values.s3.secretAccessKey) .Values.s3.existingSecret.name (include "curbcut.workloadIdentity" .)) }}{{ fail "\n\ns3.accessKeyId and s3.secretAccessKey (or s3.existingSecret.name, or s3.workloadIdentity) are not set" }}{{ end }}
{{- if and (include "curbcut.workloadIdentity" .) (or .Values.s3.accessKeyId .Values.s3.existingSecret.name) }}{{ fail "\n\ns3.workloadIdentity replaces the access key: leave s3.accessKeyId and s3.existingSecret unset" }}{{ end }}
{{- end }}
{{- if and .Values.api.ingress.enabled (not .Values.api.ingress.hosts) }}{{ fail "\n\napi.ingress.hosts is not set: list at least one, such as [{host: curbcut.example.com}]" }}{{ end }}
{{- with .Values.api.httpRoute }}
{{- if and .enabled (not (and .parentRefs .hostnames)) }}{{ fail "\n\napi.httpRoute.parentRefs and api.httpRoute.hostnames are not set: name the Gateway and at least one host name" }}{{ end }}
{{- end }}
{{- if and (or .Values.api.ingress.enabled .Values.api.httpRoute.enabled) (not .Values.api.trustedProxies) }}{{ fail "\n\napi.trustedProxies is not set: without it every client behind the ingress or gateway has the address of its controller, and one client's failed sign-ins count for all. List the addresses of the controller's pods, for example the pod network: --set 'api.trustedProxies={10.244.0.0/16}' (docs/public-scans.md)" }}{{ end }}
{{- if and .Values.publicScans.enabled (not .Values.evaluation.enabled) (not (or .Values.smtp.url .Values.smtp.existingSecret.name)) }}{{ fail "\n\npublicScans.enabled needs a mail server, because results are sent by mail: set smtp.url or smtp.existingSecret.name" }}{{ end }}
{{- if and .Values.evaluation.enabled (or .Values.mongodb.url .Values.mongodb.existingSecret.name .Values.s3.endpoint (include "curbcut.workloadIdentity" .) .Values.nats.url .Values.smtp.url .Values.smtp.existingSecret.name) }}{{ fail "\n\nevaluation.enabled brings its own MongoDB, NATS, S3 and mail server: leave theirs unset, or the evaluation off" }}{{ end }}
{{- with .Values.oidc }}
{{- $set := compact (list .issuer .clientId .existingSecret.name) }}
{{- if and $set (ne (len $set) 3) }}{{ fail "\n\noidc.issuer, oidc.clientId and oidc.existingSecret.name belong together: set all of them, or none" }}{{ end }}
{{- if and .roleMapping.rules (not .issuer) }}{{ fail "\n\noidc.roleMapping.rules is set, but oidc.issuer is not: set the provider too" }}{{ end }}
{{- if and (or .emailsVerified .roleMapping.rules) (regexMatch "(?i)^https?://[^/]+/+(common|organizations|consumers|9188040d-6c67-4c5b-b112-36a304b66dad)([/?#]|$)" .issuer) }}{{ fail "\n\noidc.issuer is for accounts of any tenant, where anyone can have any e-mail address and any role: set the issuer of your own tenant, such as https://login.microsoftonline.com/TENANT-ID/v2.0, or neither oidc.emailsVerified nor oidc.roleMapping" }}{{ end }}
{{- end }}
{{- with .Values.s3.workloadIdentity }}
{{- if and .roleArn .podIdentity }}{{ fail "\n\ns3.workloadIdentity.roleArn and s3.workloadIdentity.podIdentity are both set: set one of them" }}{{ end }}
{{- end }}
{{- if and (or .Values.scans.extraNamespaces .Values.scans.clusterWide) (include "curbcut.proxied" (dict "root" . "part" "scanners")) }}
{{- with .Values.outboundProxy }}
{{- if and (or .existingSecret.name (contains "@" .url)) (not (or .scannerUrl .scannerExistingSecret.name)) }}{{ fail "\n\noutboundProxy.scannerExistingSecret.name (or outboundProxy.scannerUrl) is not set: scanner pods get the password of the proxy in a Secret of their namespace, which others may read in scans.extraNamespaces and with scans.clusterWide. Give scanners an account of their own at the proxy, or set outboundProxy.scanners=false (docs/chart.md)" }}{{ end }}
{{- end }}
{{- end }}
{{- range $name, $bundle := .Values.privateCA }}
{{- if and $bundle.configMap $bundle.secret }}{{ fail (printf "\n\nprivateCA.%s.configMap and privateCA.%s.secret are both set: set one of them" $name $name) }}{{ end }}
{{- end }}
{{- with .Values.turnstile }}
{{- $set := compact (list .siteKey .existingSecret.name) }}
{{- if and $set (ne (len $set) 2) }}{{ fail "\n\nturnstile.siteKey and turnstile.existingSecret.name belong together: set both, or none" }}{{ end }}
{{- end }}
{{- end }}
