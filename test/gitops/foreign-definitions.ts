/** The custom resource definitions of Flux and Argo CD, from the Go modules that contain them. */
import type { ModuleFiles } from '../support/go-modules.ts';

/** notification-controller's module cannot be had, so its kinds are checked by hand. */
export const FOREIGN_DEFINITIONS: readonly ModuleFiles[] = [
  ['github.com/fluxcd/source-controller', 'v1.8.5', 'config/crd/bases/*.yaml'],
  ['github.com/fluxcd/kustomize-controller', 'v1.7.3', 'config/crd/bases/*.yaml'],
  ['github.com/fluxcd/helm-controller', 'v1.4.0', 'config/crd/bases/*.yaml'],
  ['github.com/controlplaneio-fluxcd/flux-operator', 'v0.59.0', 'config/crd/bases/*.yaml'],
  ['github.com/argoproj/argo-cd/v3', 'v3.3.19', 'manifests/crds/*-crd.yaml'],
];
