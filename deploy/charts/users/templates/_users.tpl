{{- /* The users of all replicas, in a process of its own. Its pod is the only one with the data: a
new one begins without users. */ -}}
{{- define "users.store" -}}
command: [/benchwright-apps, users, store, --listen, "0.0.0.0:{{ .port }}", --data, /data]
{{ include "users.accepts" . }}
{{ include "users.resources" .root.Values.store.resources }}
volumeMounts:
  - name: data
    mountPath: /data
{{- end }}

{{- /* A replica. Arguments: as for a Deployment, and store, its address. */ -}}
{{- define "users.service" -}}
{{- $values := .root.Values -}}
command:
  - /benchwright-apps
  - users
  - --listen
  - "0.0.0.0:{{ .port }}"
  - --store
  - {{ .store }}
  - --start-within
  - 600s
  - --cost
  - {{ $values.cost | quote }}
  - --overload
  - {{ $values.overload }}
  - --queue
  - {{ $values.queue | quote }}
  {{- if eq $values.health "own" }}
  - --health-listen
  - "0.0.0.0:8081"
  {{- else }}
  - --health-on-service-port
  {{- end }}
env:
  - name: BENCHWRIGHT_USERS_SECRET
    valueFrom:
      secretKeyRef:
        name: {{ include "users.fullname" . }}
        key: tokens
{{- with $values.probes }}
{{- range $kind := list "readiness" "liveness" }}
{{ $kind }}Probe:
  httpGet:
    path: /health/{{ $kind }}
    port: {{ ternary 8081 8080 (eq $values.health "own") }}
  initialDelaySeconds: {{ int $values.probes.initialDelaySeconds }}
  periodSeconds: {{ int $values.probes.periodSeconds }}
  timeoutSeconds: {{ int $values.probes.timeoutSeconds }}
  failureThreshold: {{ int (get $values.probes (printf "%sFailures" $kind)) }}
{{- end }}
{{- end }}
{{ include "users.resources" $values.resources }}
{{- end }}

{{- /* The balancer. Arguments: as for a Deployment, and backends, the address that lists the ready
replicas. It is ready itself when no replica is: then it answers 503. */ -}}
{{- define "users.balancer" -}}
command:
  - /benchwright-apps
  - balancer
  - --listen
  - "0.0.0.0:{{ .port }}"
  - --backends
  - {{ .backends }}
  - --readiness
  - listed
  - --deadline
  - {{ int .root.Values.balancer.deadlineSeconds }}s
{{ include "users.accepts" . }}
{{ include "users.resources" .root.Values.balancer.resources }}
{{- end }}

{{- define "users.accepts" -}}
readinessProbe:
  tcpSocket:
    port: http
  periodSeconds: 1
{{- end }}

{{- define "users.resources" -}}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
