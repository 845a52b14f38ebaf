{{/* How people are written to; the log is read instead where no server is named. */}}
{{- define "perdure.tenancyMailEnv" -}}
{{- if .smtpHost }}
- name: PERDURE_MAIL__SMTP_HOST
  value: {{ .smtpHost | quote }}
- name: PERDURE_MAIL__SMTP_PORT
  value: {{ .smtpPort | int | quote }}
- name: PERDURE_MAIL__SMTP_TLS
  value: {{ .smtpTls | quote }}
- name: PERDURE_MAIL__FROM
  value: {{ required "tenancy.mail.from must be set where mail is sent" .from | quote }}
{{- with .smtpUser }}
- name: PERDURE_MAIL__SMTP_USER
  value: {{ . | quote }}
{{- end }}
{{- if .passwordSecret.name }}
- name: PERDURE_MAIL__SMTP_PASSWORD_FILE
  value: /var/run/perdure/mail/password
{{- end }}
{{- end }}
{{- end -}}

{{/* How people prove who they are, besides passwords. */}}
{{- define "perdure.tenancyLoginEnv" -}}
- name: PERDURE_LOGIN__VERIFY_EMAIL
  value: {{ .verifyEmail | quote }}
{{- with .oidc }}
{{- if .issuer }}
- name: PERDURE_LOGIN__OIDC_ISSUER
  value: {{ .issuer | quote }}
- name: PERDURE_LOGIN__OIDC_CLIENT_ID
  value: {{ required "tenancy.login.oidc.clientId must be set where there is an issuer" .clientId | quote }}
- name: PERDURE_LOGIN__OIDC_CLIENT_SECRET_FILE
  value: /var/run/perdure/oidc/secret
- name: PERDURE_LOGIN__OIDC_NAME
  value: {{ .name | quote }}
{{- with .allow }}
- name: PERDURE_LOGIN__OIDC_ALLOW
  value: {{ join "," . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
