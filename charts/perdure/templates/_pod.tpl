{{/* What all pods of ours have in common: root, component, values, serviceAccount, token, graceSeconds. */}}
{{- define "perdure.pod" -}}
serviceAccountName: {{ .serviceAccount | default (printf "perdure-%s" .component) }}
automountServiceAccountToken: {{ .token | default false }}
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .graceSeconds }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
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
{{- if ne (.values.topologySpread | default "none") "none" }}
topologySpreadConstraints:
  {{- /* Pods of one zone are on several of its nodes, too. */}}
  {{- range eq .values.topologySpread "zone" | ternary (list "topology.kubernetes.io/zone" "kubernetes.io/hostname") (list "kubernetes.io/hostname") }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "perdure.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "perdure.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Live: the event loop turns. Ready: it serves; what it can serve without is not asked. */}}
{{- define "perdure.probes" -}}
startupProbe:
  httpGet:
    path: /livez
    port: probes
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet:
    path: /livez
    port: probes
  periodSeconds: 10
  timeoutSeconds: 2
  failureThreshold: 3
readinessProbe:
  httpGet:
    path: /readyz
    port: probes
  periodSeconds: 5
  timeoutSeconds: 2
  failureThreshold: 2
{{- end -}}

{{/* Settings of every program: root, values. */}}
{{- define "perdure.commonEnv" -}}
- name: PERDURE_NODE_NAME
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.name
- name: PERDURE_LOG_FORMAT
  value: json
- name: PERDURE_LOG_FILTER
  value: {{ .values.logFilter | quote }}
{{- with .root.Values.global.tracing.endpoint }}
- name: PERDURE_TRACING_ENDPOINT
  value: {{ . | quote }}
- name: OTEL_RESOURCE_ATTRIBUTES
  value: k8s.namespace.name={{ $.root.Release.Namespace }},k8s.pod.name=$(PERDURE_NODE_NAME)
{{- end }}
{{- end -}}

{{/* Where the certificate of a door is: root, door. */}}
{{- define "perdure.publicTlsEnv" -}}
{{- if include "perdure.ownCertificate" . -}}
- name: PERDURE_PUBLIC_TLS__CERTIFICATE_FILE
  value: /var/run/perdure/public-tls/tls.crt
- name: PERDURE_PUBLIC_TLS__PRIVATE_KEY_FILE
  value: /var/run/perdure/public-tls/tls.key
{{- end -}}
{{- end -}}

{{/* The Secret with the certificates of our programs; empty: they show each other nothing. */}}
{{- define "perdure.internalTlsSecret" -}}
{{- if .Values.internalTls.existingSecret -}}
{{ .Values.internalTls.existingSecret }}
{{- else if eq .Values.internalTls.mode "mutual" -}}
perdure-internal-tls
{{- end -}}
{{- end -}}

{{/* Mutual TLS between our programs. */}}
{{- define "perdure.internalTlsEnv" -}}
{{- if include "perdure.internalTlsSecret" . -}}
- name: PERDURE_TLS__AUTHORITY_FILE
  value: /var/run/perdure/internal-tls/ca.crt
- name: PERDURE_TLS__CERTIFICATE_FILE
  value: /var/run/perdure/internal-tls/tls.crt
- name: PERDURE_TLS__PRIVATE_KEY_FILE
  value: /var/run/perdure/internal-tls/tls.key
{{- end -}}
{{- end -}}

{{/* Whose word about clients' addresses our HTTP programs believe. */}}
{{- define "perdure.clientsEnv" -}}
{{- if eq .Values.edge.clients.from "header" -}}
- name: PERDURE_TRUSTED_PROXIES__RANGES
  value: {{ join "," .Values.edge.clients.trustedProxies | quote }}
- name: PERDURE_TRUSTED_PROXIES__HEADER
  value: {{ .Values.edge.clients.header | quote }}
{{- end -}}
{{- end -}}

{{/* Changes with the URL of the database, so that an upgrade replaces the pods that have it. Empty where helm asks no cluster. */}}
{{- define "perdure.postgresChecksum" -}}
{{- with lookup "v1" "Secret" .Release.Namespace .Values.postgres.existingSecret -}}
{{- get (.data | default dict) $.Values.postgres.key | sha256sum | trunc 16 -}}
{{- end -}}
{{- end -}}

{{- define "perdure.postgresEnv" -}}
- name: PERDURE_METADATA__POSTGRES_URL
  valueFrom:
    secretKeyRef:
      name: {{ required "postgres.existingSecret must be set: a Secret with the URL of the database" .Values.postgres.existingSecret }}
      key: {{ .Values.postgres.key }}
{{- end -}}

{{/* Mounts of both kinds of TLS, and what values add: root, door, values. */}}
{{- /* The Secret by which gateways believe tenancy from where people come; empty: there is none. */}}
{{- define "perdure.forwardingSecret" -}}
{{- if .Values.auth.forwarding.existingSecret -}}
{{ .Values.auth.forwarding.existingSecret }}
{{- else if not .Values.auth.signingRoot.existingSecret -}}
perdure-forwarding
{{- end -}}
{{- end -}}

{{- define "perdure.forwardingMount" -}}
{{- if include "perdure.forwardingSecret" . }}
- name: forwarding
  mountPath: /var/run/perdure/forwarding
  readOnly: true
{{- end }}
{{- end -}}

{{- define "perdure.forwardingVolume" -}}
{{- with include "perdure.forwardingSecret" . }}
- name: forwarding
  secret:
    secretName: {{ . }}
    defaultMode: 288
    items:
      - key: {{ $.Values.auth.forwarding.key }}
        path: keys
{{- end }}
{{- end -}}

{{- define "perdure.mounts" -}}
{{- if include "perdure.ownCertificate" . }}
- name: public-tls
  mountPath: /var/run/perdure/public-tls
  readOnly: true
{{- end }}
{{- if include "perdure.internalTlsSecret" .root }}
- name: internal-tls
  mountPath: /var/run/perdure/internal-tls
  readOnly: true
{{- end }}
{{- with .values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "perdure.volumes" -}}
{{- with include "perdure.ownCertificate" . }}
- name: public-tls
  secret:
    secretName: {{ . }}
    defaultMode: 288
{{- end }}
{{- with include "perdure.internalTlsSecret" .root }}
- name: internal-tls
  secret:
    secretName: {{ . }}
    defaultMode: 288
{{- end }}
{{- with .values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "perdure.podDisruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{- include "perdure.metadata" . | nindent 2 }}
spec:
  maxUnavailable: 1
  # A pod that is not well is not a reason to keep a node.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "perdure.selector" . | nindent 6 }}
{{- end -}}

{{- define "perdure.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata: {{- include "perdure.metadata" (merge (dict "annotations" (get .root.Values .key).serviceAccount.annotations) .) | nindent 2 }}
automountServiceAccountToken: false
{{- end -}}

{{- define "perdure.autoscaler" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{- include "perdure.metadata" . | nindent 2 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: perdure-{{ .component }}
  minReplicas: {{ .values.autoscaling.minReplicas }}
  maxReplicas: {{ .values.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ .values.autoscaling.cpuPercent }}
    {{- if and .inFlightMetric .values.autoscaling.requestsInFlight }}
    - type: Pods
      pods:
        metric:
          name: {{ .inFlightMetric }}
        target:
          type: AverageValue
          averageValue: {{ .values.autoscaling.requestsInFlight | quote }}
    {{- end }}
  behavior:
    scaleDown:
      stabilizationWindowSeconds: 300
      policies:
        - type: Pods
          value: 1
          periodSeconds: 60
{{- end -}}
