{{/* What the charts coder and coder-provisioner share; the file is the same in both. */}}

{{- define "coder.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "coder.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{ include "coder.selector" . }}
app.kubernetes.io/part-of: coder
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{/* name: what every object of a release is called. It does not contain the
     release, so that provisioners find the Service of the server. */}}
{{- define "coder.name" -}}
{{- .Values.fullnameOverride | default .Chart.Name | trunc 53 | trimSuffix "-" -}}
{{- end }}

{{- define "coder.image" -}}
{{- $repo := required "coder.image.repo is not set: the image is not published, so build it with `make image`, push it to a registry or load it into the nodes, and set coder.image.repo and coder.image.tag (docs/kubernetes/install.md)" .Values.coder.image.repo -}}
{{- printf "%s:%s" $repo (.Values.coder.image.tag | default .Chart.AppVersion) -}}
{{- end }}

{{/* has: whether coder.env sets a variable. Call with (list . "NAME"). */}}
{{- define "coder.has" -}}
{{- $name := index . 1 -}}
{{- range (index . 0).Values.coder.env }}{{ if eq .name $name }}yes{{ end }}{{ end -}}
{{- end }}

{{- define "coder.probe" -}}
{{- $p := index . 0 -}}
httpGet:
  path: /healthz
  port: {{ index . 1 }}
  scheme: HTTP
initialDelaySeconds: {{ $p.initialDelaySeconds | default 0 }}
{{- with $p.periodSeconds }}
periodSeconds: {{ . }}
{{- end }}
{{- with $p.timeoutSeconds }}
timeoutSeconds: {{ . }}
{{- end }}
{{- with $p.successThreshold }}
successThreshold: {{ . }}
{{- end }}
{{- with $p.failureThreshold }}
failureThreshold: {{ . }}
{{- end }}
{{- end }}

{{- define "coder.account" -}}
{{- if not .Values.coder.serviceAccount.disableCreate }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Values.coder.serviceAccount.name | quote }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "coder.labels" . | nindent 4 }}
    {{- with .Values.coder.serviceAccount.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.coder.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* rules: call with the values of a serviceAccount. */}}
{{- define "coder.rules" -}}
{{- $verbs := list "create" "delete" "deletecollection" "get" "list" "patch" "update" "watch" -}}
{{- if .workspacePerms }}
- apiGroups: [""]
  resources: ["pods"]
  verbs: {{ toJson $verbs }}
- apiGroups: [""]
  resources: ["persistentvolumeclaims"]
  verbs: {{ toJson $verbs }}
{{- if .enableDeployments }}
- apiGroups: ["apps"]
  resources: ["deployments"]
  verbs: {{ toJson $verbs }}
{{- end }}
{{- end }}
{{- with .extraRules }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* rights: Role and RoleBinding in the release's namespace and in each of
     coder.serviceAccount.workspaceNamespaces: a name, or an object with a name
     and the rules that differ. */}}
{{- define "coder.rights" -}}
{{- $account := .Values.coder.serviceAccount }}
{{- $all := list (dict "name" .Release.Namespace) }}
{{- $seen := list .Release.Namespace }}
{{- range $account.workspaceNamespaces }}
{{- $namespace := . }}
{{- if kindIs "string" . }}{{ $namespace = dict "name" . }}{{ end }}
{{- if not (has $namespace.name $seen) }}{{ $all = append $all $namespace }}{{ end }}
{{- $seen = append $seen $namespace.name }}
{{- end }}
{{- $name := printf "%s-workspace-perms" $account.name }}
{{- range $all }}
{{- $granted := pick $account "workspacePerms" "enableDeployments" "extraRules" }}
{{- range $key, $value := . }}{{ $granted = set $granted $key $value }}{{ end }}
{{- $rules := include "coder.rules" $granted | trim }}
{{- if $rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name | quote }}
  namespace: {{ .name | quote }}
  labels:
    {{- include "coder.labels" $ | nindent 4 }}
rules:
  {{- $rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name | quote }}
  namespace: {{ .name | quote }}
  labels:
    {{- include "coder.labels" $ | nindent 4 }}
subjects:
  - kind: ServiceAccount
    name: {{ $account.name | quote }}
    namespace: {{ $.Release.Namespace | quote }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* deployment: call with (dict "root" . "args" [...] "own" env "ports" [...] "volumes" [...] "mounts" [...] "port" "http" "grace" 60). */}}
{{- define "coder.deployment" -}}
{{- $v := .root.Values.coder -}}
{{- $mounts := concat .mounts ($v.volumeMounts | default list) -}}
{{- $writable := include "coder.writable" (list .root $mounts) | fromYaml -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "coder.name" .root | quote }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "coder.labels" .root | nindent 4 }}
    {{- with $v.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $v.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if not (and $v.autoscaling $v.autoscaling.enable) }}
  replicas: {{ $v.replicaCount }}
  {{- end }}
  {{- with ($v.strategy | default .strategy) }}
  strategy:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "coder.selector" .root | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "coder.labels" .root | nindent 8 }}
        {{- with $v.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $v.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ $v.serviceAccount.name | quote }}
      {{- with $v.podSecurityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      restartPolicy: Always
      terminationGracePeriodSeconds: {{ .grace }}
      {{- with $v.priorityClassName }}
      priorityClassName: {{ . | quote }}
      {{- end }}
      {{- with $v.hostAliases }}
      hostAliases:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.initContainers }}
      initContainers:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: coder
          image: {{ include "coder.image" .root | quote }}
          imagePullPolicy: {{ $v.image.pullPolicy }}
          command:
            {{- toYaml $v.command | nindent 12 }}
          args:
            {{- toYaml ($v.commandArgs | default .args) | nindent 12 }}
          env:
            {{- range .own }}
            {{- if not (include "coder.has" (list $.root .name)) }}
            - {{ toYaml . | nindent 14 | trim }}
            {{- end }}
            {{- end }}
            {{- with $v.env }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- with $v.envFrom }}
          envFrom:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with .ports }}
          ports:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with $v.resources }}
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with $v.lifecycle }}
          lifecycle:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- if .port }}
          {{- if and $v.readinessProbe $v.readinessProbe.enabled }}
          readinessProbe:
            {{- include "coder.probe" (list $v.readinessProbe .port) | nindent 12 }}
          {{- end }}
          {{- if and $v.livenessProbe $v.livenessProbe.enabled }}
          livenessProbe:
            {{- include "coder.probe" (list $v.livenessProbe .port) | nindent 12 }}
          {{- end }}
          {{- end }}
          {{- with $v.securityContext }}
          securityContext:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with (concat $mounts ($writable.mounts | default list)) }}
          volumeMounts:
            {{- toYaml . | nindent 12 }}
          {{- end }}
      {{- with (concat .volumes ($v.volumes | default list) ($writable.volumes | default list)) }}
      volumes:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}

{{/* collected: whether Prometheus asks for the metrics. */}}
{{- define "coder.collected" -}}
{{- if .Values.coder.serviceMonitor.enable }}yes{{ end -}}
{{- end }}

{{/* writable: what a container writes to whose root file system is read-only;
     call with (list . mounts), the mounts that there are already. */}}
{{- define "coder.writable" -}}
{{- $taken := list }}
{{- range (index . 1) }}{{ $taken = append $taken .mountPath }}{{ end }}
{{- if dig "readOnlyRootFilesystem" false ((index . 0).Values.coder.securityContext | default dict) }}
{{- $missing := list }}
{{- range $name, $path := dict "home" "/home/coder" "tmp" "/tmp" }}
{{- if not (has $path $taken) }}{{ $missing = append $missing (list $name $path) }}{{ end }}
{{- end }}
{{- if $missing }}
volumes:
{{- range $missing }}
  - name: {{ printf "writable-%s" (first .) }}
    emptyDir: {}
{{- end }}
mounts:
{{- range $missing }}
  - name: {{ printf "writable-%s" (first .) }}
    mountPath: {{ last . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "coder.certs" -}}
volumes:
{{- range .Values.coder.certs.secrets }}
  - name: {{ printf "ca-cert-%s" .name | quote }}
    secret:
      secretName: {{ .name | quote }}
{{- end }}
mounts:
{{- range .Values.coder.certs.secrets }}
  - name: {{ printf "ca-cert-%s" .name | quote }}
    mountPath: {{ printf "/etc/ssl/certs/%s.crt" .name | quote }}
    subPath: {{ .key | quote }}
    readOnly: true
{{- end }}
{{- end }}

{{- define "coder.disruption" -}}
{{- with .Values.coder.podDisruptionBudget }}
{{- if .enable }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "coder.name" $ | quote }}
  namespace: {{ $.Release.Namespace | quote }}
  labels:
    {{- include "coder.labels" $ | nindent 4 }}
spec:
  maxUnavailable: {{ .maxUnavailable }}
  selector:
    matchLabels:
      {{- include "coder.selector" $ | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}

{{/* policy: who may reach the pods; call with (list . "http" "https"), the ports for everybody. */}}
{{- define "coder.policy" -}}
{{- $root := first . }}
{{- with $root.Values.coder.networkPolicy }}
{{- if .enable }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "coder.name" $root | quote }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- include "coder.labels" $root | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "coder.selector" $root | nindent 6 }}
  policyTypes: ["Ingress"]
  {{- $ports := rest $ }}
  {{- if or $ports .metricsFrom }}
  ingress:
    {{- with $ports }}
    - ports:
        {{- range . }}
        - port: {{ . }}
        {{- end }}
    {{- end }}
    {{- with .metricsFrom }}
    - from:
        {{- toYaml . | nindent 8 }}
      ports:
        - port: prometheus
    {{- end }}
  {{- else }}
  ingress: []
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* monitor: a Service of the metrics alone, and who asks it. */}}
{{- define "coder.monitor" -}}
{{- with .Values.coder.serviceMonitor }}
{{- if .enable }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ printf "%s-metrics" (include "coder.name" $) | quote }}
  namespace: {{ $.Release.Namespace | quote }}
  labels:
    {{- include "coder.labels" $ | nindent 4 }}
    app.kubernetes.io/component: metrics
spec:
  clusterIP: None
  selector:
    {{- include "coder.selector" $ | nindent 4 }}
  ports:
    - name: prometheus
      port: 2112
      targetPort: prometheus
      protocol: TCP
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "coder.name" $ | quote }}
  namespace: {{ $.Release.Namespace | quote }}
  labels:
    {{- include "coder.labels" $ | nindent 4 }}
    {{- with .labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "coder.selector" $ | nindent 6 }}
      app.kubernetes.io/component: metrics
  endpoints:
    - port: prometheus
      interval: {{ .interval }}
{{- end }}
{{- end }}
{{- end }}

{{- define "coder.extra" -}}
{{- range .Values.extraTemplates }}
---
{{ if kindIs "string" . }}{{ tpl . $ }}{{ else }}{{ tpl (toYaml .) $ }}{{ end }}
{{- end }}
{{- end }}
