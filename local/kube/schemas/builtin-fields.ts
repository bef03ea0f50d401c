/**
 * The fields of the built-in kinds, one type per paragraph: `name type`; `!` is required. `any` is accepted
 * and stored but never read.
 */

/** Metadata, pods and their parts. */
export const POD_FIELDS = `
OwnerReference: apiVersion! string, blockOwnerDeletion bool, controller bool, kind! string, name! string, uid! string
ObjectMeta: annotations {string}, creationTimestamp time, deletionGracePeriodSeconds int64, deletionTimestamp time, finalizers
  [string], generateName string, generation int64, labels {string}, managedFields [any], name string, namespace string,
  ownerReferences [OwnerReference], resourceVersion string, selfLink string, uid string
NodeSelectorRequirement: key! string, operator! string, values [string]
NodeSelectorTerm: matchExpressions [NodeSelectorRequirement], matchFields [NodeSelectorRequirement]
PreferredSchedulingTerm: preference! NodeSelectorTerm, weight! int32
NodeSelector: nodeSelectorTerms! [NodeSelectorTerm]
NodeAffinity: preferredDuringSchedulingIgnoredDuringExecution [PreferredSchedulingTerm],
  requiredDuringSchedulingIgnoredDuringExecution NodeSelector
LabelSelectorRequirement: key! string, operator! string, values [string]
LabelSelector: matchExpressions [LabelSelectorRequirement], matchLabels {string}
PodAffinityTerm: labelSelector LabelSelector, matchLabelKeys [string], mismatchLabelKeys [string], namespaceSelector
  LabelSelector, namespaces [string], topologyKey! string
WeightedPodAffinityTerm: podAffinityTerm! PodAffinityTerm, weight! int32
PodAffinity: preferredDuringSchedulingIgnoredDuringExecution [WeightedPodAffinityTerm],
  requiredDuringSchedulingIgnoredDuringExecution [PodAffinityTerm]
PodAntiAffinity: preferredDuringSchedulingIgnoredDuringExecution [WeightedPodAffinityTerm],
  requiredDuringSchedulingIgnoredDuringExecution [PodAffinityTerm]
Affinity: nodeAffinity NodeAffinity, podAffinity PodAffinity, podAntiAffinity PodAntiAffinity
ConfigMapKeySelector: key! string, name string, optional bool
ObjectFieldSelector: apiVersion string, fieldPath! string
SecretKeySelector: key! string, name string, optional bool
EnvVarSource: configMapKeyRef ConfigMapKeySelector, fieldRef ObjectFieldSelector, fileKeyRef any, resourceFieldRef any,
  secretKeyRef SecretKeySelector
EnvVar: name! string, value string, valueFrom EnvVarSource
ConfigMapEnvSource: name string, optional bool
SecretEnvSource: name string, optional bool
EnvFromSource: configMapRef ConfigMapEnvSource, prefix string, secretRef SecretEnvSource
ContainerPort: containerPort! int32, hostIP string, hostPort int32, name string, protocol string
ResourceRequirements: claims [any], limits {quantity}, requests {quantity}
Capabilities: add [string], drop [string]
SeccompProfile: localhostProfile string, type! string
SecurityContext: allowPrivilegeEscalation bool, appArmorProfile any, capabilities Capabilities, privileged bool, procMount
  string, readOnlyRootFilesystem bool, runAsGroup int64, runAsNonRoot bool, runAsUser int64, seLinuxOptions any, seccompProfile
  SeccompProfile, windowsOptions any
VolumeMount: mountPath! string, mountPropagation string, name! string, readOnly bool, recursiveReadOnly string, subPath string,
  subPathExpr string
Container: args [string], command [string], env [EnvVar], envFrom [EnvFromSource], image string, imagePullPolicy string,
  lifecycle any, livenessProbe any, name! string, ports [ContainerPort], readinessProbe any, resizePolicy [any],
  resources ResourceRequirements, restartPolicy string, restartPolicyRules [any], securityContext SecurityContext, startupProbe
  any, stdin bool, stdinOnce bool, terminationMessagePath string, terminationMessagePolicy string, tty bool, volumeDevices [any],
  volumeMounts [VolumeMount], workingDir string
LocalObjectReference: name string
PodSecurityContext: appArmorProfile any, fsGroup int64, fsGroupChangePolicy string, runAsGroup int64, runAsNonRoot bool,
  runAsUser int64, seLinuxChangePolicy string, seLinuxOptions any, seccompProfile SeccompProfile, supplementalGroups [int64],
  supplementalGroupsPolicy string, sysctls [any], windowsOptions any
Toleration: effect string, key string, operator string, tolerationSeconds int64, value string
TopologySpreadConstraint: labelSelector LabelSelector, matchLabelKeys [string], maxSkew! int32, minDomains int32,
  nodeAffinityPolicy string, nodeTaintsPolicy string, topologyKey! string, whenUnsatisfiable! string
KeyToPath: key! string, mode int32, path! string
ConfigMapVolumeSource: defaultMode int32, items [KeyToPath], name string, optional bool
DownwardAPIVolumeFile: fieldRef ObjectFieldSelector, mode int32, path! string, resourceFieldRef any
DownwardAPIVolumeSource: defaultMode int32, items [DownwardAPIVolumeFile]
EmptyDirVolumeSource: medium string, sizeLimit quantity
ConfigMapProjection: items [KeyToPath], name string, optional bool
DownwardAPIProjection: items [DownwardAPIVolumeFile]
SecretProjection: items [KeyToPath], name string, optional bool
ServiceAccountTokenProjection: audience string, expirationSeconds int64, path! string
VolumeProjection: clusterTrustBundle any, configMap ConfigMapProjection, downwardAPI DownwardAPIProjection, podCertificate any,
  secret SecretProjection, serviceAccountToken ServiceAccountTokenProjection
ProjectedVolumeSource: defaultMode int32, sources [VolumeProjection]
SecretVolumeSource: defaultMode int32, items [KeyToPath], optional bool, secretName string
Volume: awsElasticBlockStore any, azureDisk any, azureFile any, cephfs any, cinder any, configMap ConfigMapVolumeSource, csi
  any, downwardAPI DownwardAPIVolumeSource, emptyDir EmptyDirVolumeSource, ephemeral any, fc any, flexVolume any, flocker any,
  gcePersistentDisk any, gitRepo any, glusterfs any, hostPath any, image any, iscsi any, name! string, nfs any,
  persistentVolumeClaim any, photonPersistentDisk any, portworxVolume any, projected ProjectedVolumeSource, quobyte any, rbd
  any, scaleIO any, secret SecretVolumeSource, storageos any, vsphereVolume any
PodSpec: activeDeadlineSeconds int64, affinity Affinity, automountServiceAccountToken bool, containers! [Container],
  dnsConfig any, dnsPolicy string, enableServiceLinks bool, ephemeralContainers [any], hostAliases [any], hostIPC
  bool, hostNetwork bool, hostPID bool, hostUsers bool, hostname string, hostnameOverride string, imagePullSecrets
  [LocalObjectReference], initContainers [Container], nodeName string, nodeSelector {string}, os any, overhead
  {quantity}, preemptionPolicy string, priority int32, priorityClassName string, readinessGates [any], resourceClaims [any],
  resources ResourceRequirements, restartPolicy string, runtimeClassName string, schedulerName string, schedulingGates
  [any], schedulingGroup any, securityContext PodSecurityContext, serviceAccount string, serviceAccountName string,
  setHostnameAsFQDN bool, shareProcessNamespace bool, subdomain string, terminationGracePeriodSeconds int64, tolerations
  [Toleration], topologySpreadConstraints [TopologySpreadConstraint], volumes [Volume]
PodCondition: lastProbeTime time, lastTransitionTime time, message string, observedGeneration int64, reason string, status!
  string, type! string
ContainerStateRunning: startedAt time
ContainerStateTerminated: containerID string, exitCode! int32, finishedAt time, message string, reason string, signal int32,
  startedAt time
ContainerStateWaiting: message string, reason string
ContainerState: running ContainerStateRunning, terminated ContainerStateTerminated, waiting ContainerStateWaiting
ContainerStatus: allocatedResources {quantity}, allocatedResourcesStatus [any], containerID string, image! string,
  imageID! string, lastState ContainerState, name! string, ready! bool, resources ResourceRequirements, restartCount! int32,
  started bool, state ContainerState, stopSignal string, user any, volumeMounts [any]
HostIP: ip! string
PodIP: ip! string
PodStatus: allocatedResources {quantity}, conditions [PodCondition], containerStatuses [ContainerStatus],
  ephemeralContainerStatuses [ContainerStatus], extendedResourceClaimStatus any, hostIP string, hostIPs [HostIP],
  initContainerStatuses [ContainerStatus], message string, nodeAllocatableResourceClaimStatuses [any], nominatedNodeName string,
  observedGeneration int64, phase string, podIP string, podIPs [PodIP], qosClass string, reason string, resize string,
  resourceClaimStatuses [any], resources ResourceRequirements, startTime time
Pod: metadata ObjectMeta, spec PodSpec, status PodStatus
`;

/** Jobs, Secrets, ConfigMaps, namespaces, Leases and events. */
export const OTHER_FIELDS = `
PodFailurePolicyOnExitCodesRequirement: containerName string, operator! string, values! [int32]
PodFailurePolicyOnPodConditionsPattern: status string, type! string
PodFailurePolicyRule: action! string, onExitCodes PodFailurePolicyOnExitCodesRequirement, onPodConditions
  [PodFailurePolicyOnPodConditionsPattern]
PodFailurePolicy: rules! [PodFailurePolicyRule]
PodTemplateSpec: metadata ObjectMeta, spec PodSpec
JobSpec: activeDeadlineSeconds int64, backoffLimit int32, backoffLimitPerIndex int32, completionMode string, completions int32,
  managedBy string, manualSelector bool, maxFailedIndexes int32, parallelism int32, podFailurePolicy PodFailurePolicy,
  podReplacementPolicy string, selector LabelSelector, successPolicy any, suspend bool, template! PodTemplateSpec,
  ttlSecondsAfterFinished int32
JobCondition: lastProbeTime time, lastTransitionTime time, message string, reason string, status! string, type! string
UncountedTerminatedPods: failed [string], succeeded [string]
JobStatus: active int32, completedIndexes string, completionTime time, conditions [JobCondition], failed int32,
  failedIndexes string, ready int32, startTime time, succeeded int32, terminating int32, uncountedTerminatedPods
  UncountedTerminatedPods
Job: metadata ObjectMeta, spec JobSpec, status JobStatus
Secret: data {byte}, immutable bool, metadata ObjectMeta, stringData {string}, type string
ConfigMap: binaryData {byte}, data {string}, immutable bool, metadata ObjectMeta
NamespaceSpec: finalizers [string]
NamespaceCondition: lastTransitionTime time, message string, reason string, status! string, type! string
NamespaceStatus: conditions [NamespaceCondition], phase string
Namespace: metadata ObjectMeta, spec NamespaceSpec, status NamespaceStatus
ObjectReference: apiVersion string, fieldPath string, kind string, name string, namespace string, resourceVersion string, uid
  string
LeaseSpec: acquireTime microtime, holderIdentity string, leaseDurationSeconds int32, leaseTransitions int32, preferredHolder
  string, renewTime microtime, strategy string
Lease: metadata ObjectMeta, spec LeaseSpec
EventSeries: count int32, lastObservedTime microtime
EventSource: component string, host string
Event: action string, count int32, eventTime microtime, firstTimestamp time, involvedObject! ObjectReference, lastTimestamp
  time, message string, metadata! ObjectMeta, reason string, related ObjectReference, reportingComponent string,
  reportingInstance string, series EventSeries, source EventSource, type string
`;
