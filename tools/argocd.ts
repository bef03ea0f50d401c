/** Generates examples/argocd/argocd-cm-curbcut.yaml from the Lua files in helm/files/argocd. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Document, isScalar, visit } from 'yaml';

const GROUP = 'curbcut.dev';
const folder = join(import.meta.dirname, '..', 'helm', 'files', 'argocd', GROUP);
const read = (...path: string[]): string => readFileSync(join(folder, ...path), 'utf8');

/** YAML with texts of several lines as blocks. */
function yaml(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    Scalar: (_, node) =>
      void (isScalar(node) && typeof node.value === 'string' && node.value.includes('\n') && (node.type = 'BLOCK_LITERAL')),
  });
  return document.toString({ lineWidth: 0 });
}

/** The names of a kind's resource actions. */
function actionsOf(kind: string): string[] {
  const actions = join(folder, kind, 'actions');
  if (!existsSync(actions)) return [];
  return readdirSync(actions, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? entry.name : []))
    .sort();
}

/** The keys of argocd-cm: the health of each kind, and its actions. */
function customizations(): Record<string, string> {
  const kinds = readdirSync(folder).sort();
  const health = kinds.map((kind) => [`resource.customizations.health.${GROUP}_${kind}`, read(kind, 'health.lua')]);
  const actions = kinds
    .filter((kind) => actionsOf(kind).length > 0)
    .map((kind) => {
      const definitions = actionsOf(kind).map((name) => ({ name, 'action.lua': read(kind, 'actions', name, 'action.lua') }));
      const value = { 'discovery.lua': read(kind, 'actions', 'discovery.lua'), definitions };
      return [`resource.customizations.actions.${GROUP}_${kind}`, yaml(value)];
    });
  return Object.fromEntries([...health, ...actions]) as Record<string, string>;
}

export const argocdConfigMap =
  (): string => `# Teaches Argo CD the health and the actions of Curbcut's resources. Adds keys to the ConfigMap of your Argo CD:
#   kubectl patch configmap argocd-cm --namespace argocd --patch-file examples/argocd/argocd-cm-curbcut.yaml
# With Argo CD's Helm chart, put the same keys into configs.cm. \`make docs\` generates this file from helm/files/argocd.
${yaml({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'argocd-cm', namespace: 'argocd', labels: { 'app.kubernetes.io/part-of': 'argocd' } },
  data: customizations(),
})}`;
