/** The options of kubectl that say which cluster, as whom and where. They are passed to kubectl as they are. */
import { parseArgs } from 'node:util';
import { FORMAT_OPTIONS } from '../commands/format.ts';
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
  { option: '--context, --kubeconfig, --as, …', meaning: 'the cluster and the user, as for kubectl: see kubectl options' },
];

/** Arguments without kubectl's options, which may stand anywhere, also before the command. */
export interface SplitArguments {
  flags: string[];
  rest: string[];
}

/** Separates kubectl's options from the others. An option without its value stays, so that the command's parser reports it. */
export function splitKubectlFlags(args: readonly string[]): SplitArguments {
  // Without -o, the letters of -ojson would be options of their own, among them -s for the server.
  const options = { ...FLAGS, output: FORMAT_OPTIONS.output };
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const flags: string[] = [];
  const removed = new Set<number>();
  /** The other options of a word, such as -A of -An. */
  const others = new Map<number, string[]>();
  for (const token of tokens) {
    if (token.kind === 'option-terminator') break;
    if (token.kind !== 'option') continue;
    const { name, index, inlineValue } = token;
    // As for kubectl, the value of -n=shop is shop.
    const value = inlineValue && !token.rawName.startsWith('--') ? token.value.replace(/^=/, '') : token.value;
    const type = Object.hasOwn(FLAGS, name) ? FLAGS[name as keyof typeof FLAGS].type : null;
    if (type === null || (type === 'string' && value === undefined)) {
      others.set(index, [...(others.get(index) ?? []), `${token.rawName}${inlineValue ? value : ''}`]);
      continue;
    }
    removed.add(index);
    if (value !== undefined && !inlineValue) removed.add(index + 1);
    flags.push(value === undefined ? `--${name}` : `--${name}=${value}`);
  }
  return { flags, rest: args.flatMap((word, index) => (removed.has(index) ? (others.get(index) ?? []) : [word])) };
}
