{{- /*
The objects of one service: nothing here depends on the application. The chart of an application has
a link to this one in its folder `charts`.

Every definition takes the same dictionary:
  root         the chart's own context
  name         the name of the service
  settings     its values: those of the chart, under those of the service (service.settings)
  port         the port
  protocol     the name of the port
  headless     true for a service whose callers balance over all of its pods themselves
  single       true for a service that never has more than one pod
  command      the command line; without one the image's own
  environment  the environment variables, in addition to settings.environments
  configuration  environment variables in a ConfigMap of the service's name, to be edited by hand: its
               pods read them when they start; without it there is no ConfigMap
  health       the path of the health page; without one the port must only accept connections
  data         the folder for data, if it has any
*/ -}}
{{- define "service.objects" -}}
{{- $settings := .settings }}
{{- $fullname := include "service.fullname" . }}
{{- $labels := include "service.labels" . }}
{{- $isScaled := and $settings.autoscaling.enabled (not .single) }}
{{- $type := $settings.service.type }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $fullname }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  {{- if .single }}
  replicas: 1
  strategy:
    type: Recreate
  {{- else if not $isScaled }}
  replicas: {{ int $settings.replicaCount }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "service.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- merge (fromYaml $labels) ($settings.podLabels | default dict) | toYaml | nindent 8 }}
      {{- $annotations := $settings.podAnnotations | default dict }}
      {{- if hasKey . "configuration" }}
      {{- $annotations = merge (dict "checksum/configuration" (toJson .configuration | sha256sum)) $annotations }}
      {{- end }}
      {{- with $annotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- /* A process ends at most two seconds after SIGTERM. */}}
      terminationGracePeriodSeconds: 5
      {{- range $key := list "imagePullSecrets" "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
      {{- with get $settings $key }}
      {{- dict $key . | toYaml | nindent 6 }}
      {{- end }}
      {{- end }}
      {{- with $settings.podSecurityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with include "service.constraints" . }}
      topologySpreadConstraints:
        {{- . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .name }}
          image: {{ include "service.image" . | quote }}
          imagePullPolicy: {{ $settings.image.pullPolicy }}
          {{- with .command }}
          command:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with include "service.environment" . }}
          env:
            {{- . | nindent 12 }}
          {{- end }}
          {{- if hasKey . "configuration" }}
          envFrom:
            - configMapRef:
                name: {{ $fullname }}
          {{- end }}
          ports:
            - name: {{ .protocol }}
              containerPort: {{ int .port }}
          {{- /*
          Each second until the service is ready for the first time, so that `--wait` is quick; later
          rarely and with much patience. An overloaded service answers its probe late. If Kubernetes
          then took it out of its Service, the others would get its load, and if it restarted the
          service (a liveness probe), calls would be lost: both would change what is measured.
          */}}
          startupProbe:
            {{- include "service.probe" . | nindent 12 }}
            periodSeconds: 1
            failureThreshold: 600
          readinessProbe:
            {{- include "service.probe" . | nindent 12 }}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          {{- with $settings.resources }}
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with $settings.securityContext }}
          securityContext:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with .data }}
          volumeMounts:
            - name: data
              mountPath: {{ . }}
          {{- end }}
      {{- if .data }}
      volumes:
        - name: data
          {{- if $settings.persistentVolume.enabled }}
          persistentVolumeClaim:
            claimName: {{ $fullname }}
          {{- else }}
          emptyDir: {}
          {{- end }}
      {{- end }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $fullname }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  type: {{ $type }}
  {{- if and .headless (eq $type "ClusterIP") }}
  {{- /*
  Headless: the name resolves to the addresses of all pods. A caller keeps one connection to each of
  them and uses them in turn. Behind a cluster IP its only connection would lead to one pod, and the
  other replicas would get no load from this caller.

  Pods that are not ready are listed too: a caller finds out itself which replicas answer, services
  that start together find each other without waiting for probes, and a late probe under overload
  moves no load to other replicas.
  */}}
  clusterIP: None
  publishNotReadyAddresses: true
  {{- end }}
  selector:
    {{- include "service.selector" . | nindent 4 }}
  ports:
    - name: {{ .protocol }}
      port: {{ int .port }}
      targetPort: {{ .protocol }}
      {{- if ne $type "ClusterIP" }}
      {{- with $settings.service.nodePort }}
      nodePort: {{ int . }}
      {{- end }}
      {{- end }}
{{- if hasKey . "configuration" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $fullname }}
  labels:
    {{- $labels | nindent 4 }}
data:
  {{- toYaml .configuration | nindent 2 }}
{{- end }}
{{- if $isScaled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $fullname }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ $fullname }}
  minReplicas: {{ int $settings.autoscaling.minReplicas }}
  maxReplicas: {{ int $settings.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ int $settings.autoscaling.targetCPUUtilizationPercentage }}
{{- end }}
{{- if and .data $settings.persistentVolume.enabled }}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ $fullname }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests:
      storage: {{ $settings.persistentVolume.size }}
{{- end }}
{{- end }}

{{- /* The name of the service's objects, which is also its DNS name: at most 63 characters. */ -}}
{{- define "service.fullname" -}}
{{- printf "%s-%s-%s" .name .root.Release.Name .root.Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The address of all replicas of the service. */ -}}
{{- define "service.address" -}}
{{- include "service.fullname" . }}:{{ int .port }}
{{- end }}

{{- /* The labels that select the service's pods. They must never change. */ -}}
{{- define "service.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- /* The labels of every object of the service. The constraints of guide 2 match `service`. */ -}}
{{- define "service.labels" -}}
{{- $labels := include "service.selector" . | fromYaml }}
{{- $_ := set $labels "app.kubernetes.io/version" .root.Chart.AppVersion }}
{{- $_ := set $labels "app.kubernetes.io/managed-by" .root.Release.Service }}
{{- $_ := set $labels "service" .name }}
{{- merge $labels (.root.Values.commonLabels | default dict) | toYaml }}
{{- end }}

{{- define "service.image" -}}
{{- with .settings.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest }}
{{- else }}
{{- printf "%s:%s" .repository (.tag | default $.root.Chart.AppVersion) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "service.environment" -}}
{{- $all := .environment | default list }}
{{- if kindIs "map" .settings.environments }}
{{- range $name, $value := .settings.environments }}
{{- $all = append $all (dict "name" $name "value" $value) }}
{{- end }}
{{- else }}
{{- $all = concat $all (.settings.environments | default list) }}
{{- end }}
{{- with $all }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{- define "service.probe" -}}
{{- if .health -}}
httpGet:
  path: {{ .health }}
  port: {{ .protocol }}
{{- else -}}
tcpSocket:
  port: {{ .protocol }}
{{- end }}
{{- end }}

{{- /*
The topology spread constraints. They are given as a string that is a template itself. In a shell
its first line has lost its indentation to the quotation mark, so the line gets that of the second
line back: the guide's string works as it is printed.
*/ -}}
{{- define "service.constraints" -}}
{{- $global := .root.Values.global | default dict }}
{{- $given := .settings.topologySpreadConstraints | default $global.topologySpreadConstraints }}
{{- if and $given (kindIs "string" $given) }}
{{- $values := merge (dict "name" .name) .settings }}
{{- $context := dict "Values" $values "Release" .root.Release "Chart" .root.Chart "Template" .root.Template }}
{{- $text := tpl $given $context | trim }}
{{- $second := index (splitList "\n" (printf "%s\n" $text)) 1 }}
{{- $lost := max 0 (sub (regexFind "^ *" $second | len) 2) | int }}
{{- printf "%s%s" (repeat $lost " ") $text }}
{{- else if $given }}
{{- toYaml $given }}
{{- else if .settings.evenly_distributed -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "service.selector" . | nindent 6 }}
{{- end }}
{{- end }}

{{- /*
Returns values of which the later ones win, as YAML. The argument is a list of dictionaries. The keys
of our own groups win one by one; a value with the form of Kubernetes wins as a whole, as in the
guide's chart. (Sprig's `merge` would take `false` and 0 for missing values.)
*/ -}}
{{- define "service.settings" -}}
{{- $groups := list "image" "service" "autoscaling" "features" }}
{{- $settings := dict }}
{{- range $layer := . }}
{{- range $key, $value := $layer }}
{{- if and (has $key $groups) (hasKey $settings $key) }}
{{- $group := dict }}
{{- range $name, $common := get $settings $key }}
{{- $_ := set $group $name $common }}
{{- end }}
{{- range $name, $own := $value }}
{{- $_ := set $group $name $own }}
{{- end }}
{{- $_ := set $settings $key $group }}
{{- else }}
{{- $_ := set $settings $key $value }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $settings }}
{{- end }}
