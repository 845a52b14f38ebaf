{{/* Those who watch, and the test of the release; kubelets are let in by every implementation. */}}
{{- define "perdure.fromMonitoring" -}}
- from:
    {{- include "perdure.peer" (dict "root" . "component" "test") | nindent 4 }}
    - podSelector:
        matchLabels: {{- toYaml .Values.networkPolicy.monitoring.podLabels | nindent 10 }}
      {{- with .Values.networkPolicy.monitoring.namespaceLabels }}
      namespaceSelector:
        matchLabels: {{- toYaml . | nindent 10 }}
      {{- end }}
  ports:
    - protocol: TCP
      port: 9091
{{- end -}}

{{- define "perdure.toDns" -}}
- to:
    - namespaceSelector:
        matchLabels: {{- toYaml .Values.global.dns.namespaceLabels | nindent 10 }}
      podSelector:
        matchLabels: {{- toYaml .Values.global.dns.podLabels | nindent 10 }}
    # The cache for names that many clusters run on each node.
    - ipBlock:
        cidr: 169.254.20.10/32
  ports:
    - protocol: UDP
      port: 53
    - protocol: TCP
      port: 53
{{- end -}}

{{/* Pods of ours with a component: root, component. */}}
{{- define "perdure.peer" -}}
- podSelector:
    matchLabels: {{- include "perdure.selector" . | nindent 6 }}
{{- end -}}

{{/* Pods of environments, whatever their namespace. */}}
{{- define "perdure.runtimes" -}}
- namespaceSelector:
    matchExpressions:
      - key: perdure.dev/environment
        operator: Exists
{{- end -}}

{{/* Addresses outside, or everybody where none are listed: a list, and ports. */}}
{{- define "perdure.toAddresses" -}}
- ports:
    {{- range .ports }}
    - protocol: TCP
      port: {{ . }}
    {{- end }}
  {{- with .cidrs }}
  to:
    {{- range . }}
    - ipBlock:
        cidr: {{ . }}
    {{- end }}
  {{- end }}
{{- end -}}

{{/* Pods here that say that they are the database, and the addresses that values name; any at its port where they name none. */}}
{{- define "perdure.toPostgres" -}}
- ports:
    - protocol: TCP
      port: {{ .Values.networkPolicy.postgres.port }}
  {{- with .Values.networkPolicy.postgres.cidrs }}
  to:
    - podSelector:
        matchLabels:
          perdure.dev/platform-role: postgres
    {{- range . }}
    - ipBlock:
        cidr: {{ . }}
    {{- end }}
  {{- end }}
{{- end -}}

{{- define "perdure.toApiServer" -}}
{{- include "perdure.toAddresses" .Values.networkPolicy.apiServer }}
{{- end -}}

{{/* The collector of traces, where there is one and values say who it is. */}}
{{- define "perdure.toCollector" -}}
{{- with .Values.networkPolicy.collector }}
{{- if and $.Values.global.tracing.endpoint (or .namespaceLabels .podLabels .cidrs) }}
- to:
    {{- if or .namespaceLabels .podLabels }}
    - podSelector: {{- empty .podLabels | ternary dict (dict "matchLabels" .podLabels) | toYaml | nindent 8 }}
      {{- with .namespaceLabels }}
      namespaceSelector:
        matchLabels: {{- toYaml . | nindent 10 }}
      {{- end }}
    {{- end }}
    {{- range .cidrs }}
    - ipBlock:
        cidr: {{ . }}
    {{- end }}
  ports:
    - protocol: TCP
      port: {{ .port | int }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Collectors of traces, and whatever else values say. */}}
{{- define "perdure.toExtra" -}}
{{- include "perdure.toCollector" . }}
{{- with .Values.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end -}}
