{{- /*
The services of the application: all that services.yaml needs to know about each.

`calls` are the services that a service calls; it gets their addresses as options of the same name.
`cached` services may use a memcached. A `single` service never has more than one pod.
*/ -}}
{{- define "hotelres.services" -}}
{{- if not .Values.postgres.address }}
store:          {port: 7000, single: true, data: /data}
{{- end }}
geo:            {port: 8083, calls: [store]}
rate:           {port: 8084, calls: [store], cached: true}
profile:        {port: 8081, calls: [store], cached: true}
recommendation: {port: 8085, calls: [store]}
user:           {port: 8086, calls: [store]}
reservation:    {port: 8087, calls: [store]}
search:         {port: 8082, calls: [geo, rate]}
{{- if .Values.review.enabled }}
review:         {port: 8088, calls: [store], cached: true}
{{- end }}
{{- if .Values.attractions.enabled }}
attractions:    {port: 8089, calls: [store]}
{{- end }}
frontend:
  port: 5000
  calls: [search, profile, recommendation, user, reservation, review, attractions, store]
{{- if .Values.memcached.enabled }}
memcached-rate:    {port: 11211, single: true}
memcached-profile: {port: 11211, single: true}
{{- if .Values.review.enabled }}
memcached-review:  {port: 11211, single: true}
{{- end }}
{{- end }}
{{- end }}

{{- /* The values of one service. Arguments: root, name. */ -}}
{{- define "hotelres.settings" -}}
{{- $layers := list .root.Values }}
{{- if hasPrefix "memcached-" .name }}
{{- $layers = append $layers (dict "image" .root.Values.memcached.image) }}
{{- end }}
{{- include "service.settings" (append $layers (get .root.Values .name | default dict)) }}
{{- end }}

{{- /* The command line of one of our own services. Arguments: root, name, service (its entry in the
table), settings. */ -}}
{{- define "hotelres.command" -}}
{{- $root := .root }}
{{- $services := include "hotelres.services" .root | fromYaml -}}
- /benchwright-apps
- hotel
- {{ .name }}
- --listen
- "0.0.0.0:{{ int .service.port }}"
- --start-within
- 600s
{{- with .service.data }}
- --data
- {{ . }}
{{- end }}
{{- range .service.calls }}
{{- if hasKey $services . }}
- --{{ . }}
- {{ include "service.address" (dict "root" $root "name" . "port" (get $services .).port) }}
{{- else if eq . "store" }}
- --store
- {{ include "hotelres.postgres" $root | quote }}
{{- end }}
{{- end }}
{{- if and .service.cached .root.Values.memcached.enabled }}
{{- $cache := printf "memcached-%s" .name }}
- --cache
- memcached://{{ include "service.address" (dict "root" .root "name" $cache "port" (get $services $cache).port) }}
- --cache-timeout
- {{ int .settings.features.memcTimeout }}s
{{- end }}
{{- end }}

{{- /* The URL of the database. Kubernetes replaces $(POSTGRES_PASSWORD) when it starts the container,
so that the password is only in its Secret. */ -}}
{{- define "hotelres.postgres" -}}
{{- with .Values.postgres -}}
postgres://{{ .user }}{{ if .passwordSecret.name }}:$(POSTGRES_PASSWORD){{ end }}@{{ .address }}/{{ .database }}
{{- end }}
{{- end }}

{{- /* The environment variables that the command line of a service refers to. Arguments: as for the
command line. */ -}}
{{- define "hotelres.environment" -}}
{{- with .root.Values.postgres }}
{{- if and .address .passwordSecret.name (has "store" ($.service.calls | default list)) }}
- name: POSTGRES_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .passwordSecret.name }}
      key: {{ .passwordSecret.key }}
{{- end }}
{{- end }}
{{- end }}
