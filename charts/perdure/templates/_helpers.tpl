{{/* Labels of everything in the release; call with a dict of root and component, and of a pod its values' podLabels, which win over common ones. */}}
{{- define "perdure.labels" -}}
app.kubernetes.io/name: perdure
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with merge (dict) (.podLabels | default dict) .root.Values.global.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What selectors hold: only what never changes. */}}
{{- define "perdure.selector" -}}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Head of a namespaced object: root, component, and perhaps name and annotations. */}}
{{- define "perdure.metadata" -}}
name: {{ .name | default (printf "perdure-%s" .component) }}
namespace: {{ .root.Release.Namespace }}
labels: {{- include "perdure.labels" . | nindent 2 }}
{{- with .annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* One switch for every image, as fields of a container: root, program, values (tag and digest). */}}
{{- define "perdure.image" -}}
{{- $tag := .values.tag | default .root.Chart.AppVersion -}}
{{- $digest := empty .values.digest | ternary "" (printf "@%s" .values.digest) -}}
image: {{ printf "%s/perdure-%s:%s%s" .root.Values.global.imageRegistry .program $tag $digest | quote }}
{{- with .root.Values.global.imagePullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end -}}

{{/* Redis of environments. */}}
{{- define "perdure.redisImage" -}}
{{- $digest := empty .digest | ternary "" (printf "@%s" .digest) -}}
{{- printf "%s/%s:%s%s" .registry .repository .tag $digest -}}
{{- end -}}

{{/* Name of a service inside the cluster: root, name. */}}
{{- define "perdure.inside" -}}
{{- printf "%s.%s.svc.%s" .name .root.Release.Namespace .root.Values.global.clusterDns -}}
{{- end -}}

{{/* Where runtimes reach tunnels, and how addresses of deployments name that. */}}
{{- define "perdure.tunnelProxyUrl" -}}
{{- printf "http://%s:9080" (include "perdure.inside" (dict "root" . "name" "perdure-tunnel-relay")) -}}
{{- end -}}

{{/* Public names, all below region and domain. */}}
{{- define "perdure.below" -}}
{{- printf "%s.%s" .Values.global.region .Values.global.domain -}}
{{- end -}}

{{/* Where people find the Cloud API, which is also the issuer of access tokens. */}}
{{- define "perdure.apiUrl" -}}
{{- $scheme := eq .Values.edge.tls.mode "none" | ternary "http" "https" -}}
{{- $usual := eq .Values.edge.tls.mode "none" | ternary 80 443 -}}
{{- $port := int .Values.edge.ports.api -}}
{{- printf "%s://api.%s%s" $scheme (include "perdure.below" .) (eq $port $usual | ternary "" (printf ":%d" $port)) -}}
{{- end -}}

{{/* Secret of the certificate for a door: root, door (environments, api, tunnel). Empty without TLS. */}}
{{- define "perdure.certificate" -}}
{{- $tls := .root.Values.edge.tls -}}
{{- if eq $tls.mode "cert-manager" -}}
perdure-edge-{{ .door }}
{{- else if eq $tls.mode "secret" -}}
{{- required (printf "edge.tls.secrets.%s must be set where edge.tls.mode is secret" .door) (get $tls.secrets .door) -}}
{{- end -}}
{{- end -}}

{{/* The certificate that pods of a door serve by themselves; empty where something in front of them does. */}}
{{- define "perdure.ownCertificate" -}}
{{- if or (eq .door "tunnel") (eq .root.Values.edge.mode "loadbalancer") -}}
{{- include "perdure.certificate" . -}}
{{- end -}}
{{- end -}}

{{/* Families of addresses of a service. */}}
{{- define "perdure.ipFamily" -}}
{{- if eq .Values.global.ipFamily "dual" -}}
ipFamilyPolicy: PreferDualStack
{{- else -}}
ipFamilyPolicy: SingleStack
ipFamilies: [{{ eq .Values.global.ipFamily "ipv6" | ternary "IPv6" "IPv4" }}]
{{- end -}}
{{- end -}}

{{/* Whether the API server has an optional group: root, api. Empty for no. */}}
{{- define "perdure.has" -}}
{{- if .root.Capabilities.APIVersions.Has .api -}}yes{{- end -}}
{{- end -}}

{{/* Components with a listener for probes, separated by spaces. */}}
{{- define "perdure.components" -}}
{{ if .Values.platform.enabled }}gateway tenancy {{ end }}operator{{ if and .Values.platform.enabled .Values.tunnelRelay.enabled }} tunnel-relay{{ end }}
{{- end -}}
