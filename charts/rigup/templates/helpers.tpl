{{/*
The settings, each with its default. A release that was installed before a key existed does not have it among
its stored values, so every key is read here, once, and nowhere else.
*/}}
{{- define "rigup.settings" -}}
{{- $v := .Values.AsMap -}}
image: {{ include "rigup.image" . | quote }}
pullPolicy: {{ dig "image" "pullPolicy" "IfNotPresent" $v | quote }}
pullSecrets: {{ dig "imagePullSecrets" list $v | toJson }}
env: {{ dig "env" dict $v | toJson }}
resources:
  requests: {{ dig "resources" "requests" (dict "cpu" "20m" "memory" "32Mi") $v | toJson }}
  limits: {{ dig "resources" "limits" (dict "cpu" "500m" "memory" "128Mi") $v | toJson }}
port: {{ dig "service" "port" 8080 $v | int }}
uid: {{ dig "user" "uid" 65532 $v | int64 }}
gid: {{ dig "user" "gid" 65532 $v | int64 }}
job:
  cpu: {{ dig "jobs" "resources" "cpu" "1" $v | toString | quote }}
  memory: {{ dig "jobs" "resources" "memory" "1Gi" $v | toString | quote }}
  backoffLimit: {{ dig "jobs" "backoffLimit" 0 $v | int }}
  ttlSeconds: {{ dig "jobs" "ttlSeconds" 86400 $v | int }}
hostPath: {{ dig "hostPath" "enabled" true $v }}
basePath: {{ dig "hostPath" "basePath" "/var/lib/rigup/data" $v | trimSuffix "/" | quote }}
storageClass: {{ dig "storageClassName" "" $v | quote }}
volumes:
  data: {size: {{ dig "volumes" "data" "size" "50Gi" $v | quote }}, mode: "2777", path: /data}
  logs: {size: {{ dig "volumes" "logs" "size" "5Gi" $v | quote }}, mode: "3777", path: /logs}
networkPolicy:
  enabled: {{ dig "networkPolicy" "enabled" true $v }}
  blocked: {{ dig "networkPolicy" "blockedCIDRs" (list "10.0.0.0/8" "172.16.0.0/12" "192.168.0.0/16" "100.64.0.0/10" "169.254.0.0/16") $v | toJson }}
  allowed: {{ dig "networkPolicy" "allowedCIDRs" list $v | toJson }}
{{- end }}

{{- define "rigup.image" -}}
{{- $v := .Values.AsMap -}}
{{- $repository := dig "image" "repository" "rigup.local/jobs-manager" $v -}}
{{- $digest := dig "image" "digest" "" $v -}}
{{- $tag := dig "image" "tag" "" $v | default .Chart.AppVersion -}}
{{- if eq (toString $tag) "latest" }}{{ fail "image.tag cannot be latest: name a fixed tag or a digest" }}{{ end -}}
{{- if $digest }}{{ $repository }}@{{ $digest }}{{ else }}{{ $repository }}:{{ $tag }}{{ end -}}
{{- end }}

{{- define "rigup.name" -}}
{{- printf "%s-jobs-manager" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{/* Names without a namespace carry release and namespace: a namespace has no dot in its name. */}}
{{- define "rigup.global" -}}
{{- printf "%s.%s" .Release.Namespace .Release.Name -}}
{{- end }}

{{/* The chart's version is not among the labels of pods: a new version rolls them only if something they use changed. */}}
{{- define "rigup.selector" -}}
app.kubernetes.io/name: jobs-manager
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rigup.labels" -}}
{{ include "rigup.selector" . }}
app.kubernetes.io/part-of: rigup
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}
