{{- /*
The services of the application: all that services.yaml needs to know about each.

`calls` are the services that a service calls; it gets their addresses as options of the same name.
`timelines` are kept by the store, or by a Redis that the ConfigMap of the service names; a `cached`
service may use memcached. A `single` service never has more than one pod.
*/ -}}
{{- define "social.services" -}}
store:         {port: 7000, single: true, data: /data}
unique-id:     {port: 9090}
media:         {port: 9090}
url-shorten:   {port: 9090, calls: [store]}
user-mention:  {port: 9090, calls: [store]}
post-storage:  {port: 9090, calls: [store], cached: true}
user:          {port: 9090, calls: [store], hashes: true}
text:          {port: 9090, calls: [url-shorten, user-mention]}
social-graph:  {port: 9090, calls: [store, user]}
user-timeline: {port: 9090, calls: [post-storage], timelines: true}
home-timeline: {port: 9090, calls: [post-storage, social-graph], timelines: true}
compose-post:
  port: 9090
  calls: [text, user, media, unique-id, post-storage, user-timeline, home-timeline]
front:
  port: 8080
  calls: [store, user, social-graph, compose-post, user-timeline, home-timeline]
  timelines: true
{{- if .Values.memcached.enabled }}
memcached:     {port: 11211, foreign: memcached, single: true}
{{- end }}
{{- end }}

{{- /* The values of one service: its own `replicas` win over `global.replicas`, and these over
`replicaCount`. Arguments: root, name, service (its entry in the table). */ -}}
{{- define "social.settings" -}}
{{- $values := .root.Values }}
{{- $own := get $values .name | default dict }}
{{- $global := $values.global | default dict }}
{{- $replicas := $global.replicas | default $values.replicaCount }}
{{- if hasKey $own "replicas" }}
{{- $replicas = $own.replicas }}
{{- end }}
{{- $layers := list $values }}
{{- with .service.foreign }}
{{- /* Its data ends with its pod, as in the guide. */}}
{{- $foreign := get $values . }}
{{- $layers = append $layers (dict "image" $foreign.image "persistentVolume" (dict "enabled" false)) }}
{{- $replicas = $foreign.replicas | default 0 }}
{{- end }}
{{- $layers = append $layers (dict "replicaCount" $replicas) }}
{{- include "service.settings" (append $layers $own) }}
{{- end }}

{{- /* The command line of one of our own services. Arguments: root, name, service, settings. */ -}}
{{- define "social.command" -}}
{{- $root := .root }}
{{- $services := include "social.services" .root | fromYaml -}}
- /benchwright-apps
- social
- {{ .name }}
- --listen
- "0.0.0.0:{{ int .service.port }}"
- --start-within
- 600s
{{- with .service.data }}
- --data
- {{ . }}
- --max-timeline
- {{ int $root.Values.longestTimeline | quote }}
{{- end }}
{{- range .service.calls }}
- --{{ . }}
- {{ include "service.address" (dict "root" $root "name" . "port" (get $services .).port) }}
{{- end }}
{{- if .service.hashes }}
- --password-hash
- {{ .root.Values.passwordHash }}
{{- end }}
{{- if and .service.cached .root.Values.memcached.enabled }}
- --cache
- memcached://{{ include "service.address" (dict "root" $root "name" "memcached" "port" (get $services "memcached").port) }}
{{- end }}
{{- if and .service.timelines (ne .name "front") }}
- --store
- {{ include "service.address" (dict "root" $root "name" "store" "port" (get $services "store").port) }}
{{- end }}
{{- end }}

{{- /* The Redis of a service with timelines, as environment variables. Arguments: root. */ -}}
{{- define "social.configuration" -}}
{{- with .root.Values.redis.master }}
BENCHWRIGHT_SOCIAL_REDIS: {{ . | quote }}
{{- end }}
{{- with .root.Values.redis.replicas }}
BENCHWRIGHT_SOCIAL_REDIS_REPLICAS: {{ . | quote }}
{{- end }}
{{- end }}
