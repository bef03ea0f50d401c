/** Who writes a ScanSchedule: the dashboard, or whoever applies its manifest. Pure. */
import { DASHBOARD_MANAGER, MANAGED_BY_LABEL, type ScanSchedule } from '../protocol/scan-schedules.ts';

/** What is known of who writes a schedule. */
export type ScheduleSource =
  | { by: 'dashboard' }
  /** `tool` and `application` say what applies the manifest, as far as its labels and annotations do. */
  | { by: 'manifest'; tool: string | null; application: string | null };

type Marked = Pick<ScanSchedule, 'metadata'>;

const join = (namespace: string | undefined, name: string): string => (namespace === undefined ? name : `${namespace}/${name}`);

/** The tools that mark what they apply, and how they name the application that it belongs to. */
const TOOLS: readonly { tool: string; application: (marks: { [key: string]: string | undefined }) => string | undefined }[] = [
  // `APPLICATION:GROUP/KIND:NAMESPACE/NAME`
  { tool: 'Argo CD', application: (marks) => marks['argocd.argoproj.io/tracking-id']?.split(':')[0] },
  { tool: 'Argo CD', application: (marks) => marks['argocd.argoproj.io/instance'] },
  {
    tool: 'Flux',
    application: ({ 'kustomize.toolkit.fluxcd.io/name': name, 'kustomize.toolkit.fluxcd.io/namespace': namespace }) =>
      name && join(namespace, name),
  },
  {
    tool: 'Flux',
    application: ({ 'helm.toolkit.fluxcd.io/name': name, 'helm.toolkit.fluxcd.io/namespace': namespace }) => name && join(namespace, name),
  },
  {
    tool: 'Helm',
    application: ({ 'meta.helm.sh/release-name': name, 'meta.helm.sh/release-namespace': namespace }) => name && join(namespace, name),
  },
];

/** @param claimed whether the schedule is recorded as one of the dashboard: labels alone prove nothing */
export function sourceOf({ metadata: { labels = {}, annotations = {} } }: Marked, claimed: boolean): ScheduleSource {
  const marks = { ...labels, ...annotations };
  for (const { tool, application } of TOOLS) {
    const found = application(marks);
    if (found !== undefined && found !== '') return { by: 'manifest', tool, application: found };
  }
  if (claimed && labels[MANAGED_BY_LABEL] === DASHBOARD_MANAGER) return { by: 'dashboard' };
  return { by: 'manifest', tool: null, application: null };
}

/** Returns the name of a writer, other than the dashboard, that has set fields of the spec; null if there is none. */
export function otherWriter({ metadata: { managedFields = [] } }: Marked): string | null {
  const other = managedFields.find(
    ({ manager, subresource = '', fieldsV1 = {} }) => manager !== DASHBOARD_MANAGER && subresource === '' && 'f:spec' in fieldsV1,
  );
  return other?.manager ?? null;
}
