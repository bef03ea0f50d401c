/** The options of kubectl that say which cluster, as whom and where. They are passed to kubectl as they are. */
import { parseArgs } from 'node:util';
import type { OptionHelp } from '../options.ts';

/** Options of `kubectl options` that choose a cluster, a user or a namespace; logging and profiling are left out. */
const FLAGS = {
  namespace: { type: 'string', short: 'n' },
  context: { type: 'string' },
  kubeconfig: { type: 'string' },
  cluster: { type: 'string' },
  user: { type: 'string' },
  as: { type: 'string' },
  'as-group': { type: 'string' },
  'as-uid': { type: 'string' },
  server: { type: 'string', short: 's' },
  token: { type: 'string' },
  'tls-server-name': { type: 'string' },
  'certificate-authority': { type: 'string' },
  'client-certificate': { type: 'string' },
  'client-key': { type: 'string' },
  'insecure-skip-tls-verify': { type: 'boolean' },
  'request-timeout': { type: 'string' },
  'cache-dir': { type: 'string' },
} as const;

export const KUBECTL_FLAG_HELP: OptionHelp[] = [
  { option: '-n, --namespace NS', meaning: "the namespace (default: the context's)" },
  { option: '--context, --kubeconfig, --as, …', meaning: 'as for kubectl (kubectl options)' },
];

/** Arguments without kubectl's options, which may stand anywhere, also before the command. */
export interface SplitArguments {
  flags: string[];
  rest: string[];
}

/** Separates kubectl's options from the others. An option without its value stays, so that the command's parser reports it. */
export function splitKubectlFlags(args: readonly string[]): SplitArguments {
  const { tokens } = parseArgs({ args: [...args], options: FLAGS, strict: false, allowPositionals: true, tokens: true });
  const flags: string[] = [];
  const removed = new Set<number>();
  for (const token of tokens) {
    if (token.kind === 'option-terminator') break;
    if (token.kind !== 'option' || !Object.hasOwn(FLAGS, token.name)) continue;
    const { type } = FLAGS[token.name as keyof typeof FLAGS];
    if (type === 'string' && token.value === undefined) continue;
    removed.add(token.index);
    if (token.value !== undefined && !token.inlineValue) removed.add(token.index + 1);
    flags.push(token.value === undefined ? `--${token.name}` : `--${token.name}=${token.value}`);
  }
  return { flags, rest: args.filter((_, index) => !removed.has(index)) };
}
