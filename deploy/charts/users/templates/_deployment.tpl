{{- /*
A Deployment of one component and its Service.

Arguments:
  root      the chart's own context
  name      the name of the component
  replicas  the number of its pods
  port      the port
  headless  true if callers find all of its ready pods by its name
  service   the type of its Service, and the port at the nodes
  container the rest of its container, as YAML
  volumes   its volumes
*/ -}}
{{- define "users.deployment" -}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "users.fullname" . }}
  labels:
    {{- include "users.labels" . | nindent 4 }}
spec:
  replicas: {{ int .replicas }}
  selector:
    matchLabels:
      {{- include "users.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "users.labels" . | nindent 8 }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- /* A process ends at most two seconds after SIGTERM. */}}
      terminationGracePeriodSeconds: 5
      {{- range $key := list "imagePullSecrets" "nodeSelector" "tolerations" "affinity" }}
      {{- with get $.root.Values $key }}
      {{- dict $key . | toYaml | nindent 6 }}
      {{- end }}
      {{- end }}
      securityContext:
        {{- toYaml .root.Values.podSecurityContext | nindent 8 }}
      {{- /* As evenly as the nodes have room. */}}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "users.selector" . | nindent 14 }}
      containers:
        - name: {{ .name }}
          image: {{ include "users.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          ports:
            - name: http
              containerPort: {{ int .port }}
          securityContext:
            {{- toYaml .root.Values.securityContext | nindent 12 }}
          {{- .container | nindent 10 }}
      {{- with .volumes }}
      volumes:
        {{- toYaml . | nindent 8 }}
      {{- end }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "users.fullname" . }}
  labels:
    {{- include "users.labels" . | nindent 4 }}
spec:
  {{- if .headless }}
  clusterIP: None
  {{- else }}
  type: {{ .service.type }}
  {{- end }}
  selector:
    {{- include "users.selector" . | nindent 4 }}
  ports:
    - name: http
      port: {{ int .port }}
      targetPort: http
      {{- if and .service.nodePort (ne .service.type "ClusterIP") }}
      nodePort: {{ int .service.nodePort }}
      {{- end }}
{{- end }}

{{- /* The name of a component's objects, which is also its DNS name: at most 63 characters. */ -}}
{{- define "users.fullname" -}}
{{- printf "%s-%s" .root.Release.Name .name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The labels that select the component's pods. They must never change. */ -}}
{{- define "users.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "users.labels" -}}
{{ include "users.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "users.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest }}
{{- else }}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) }}
{{- end }}
{{- end }}
{{- end }}
