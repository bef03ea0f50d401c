/** `curbcut accept SCAN`: accepts violations of a scan until a date, or decides what needs review, in a KnownIssues manifest. */
import { readFile } from 'node:fs/promises';
import { Value } from 'typebox/value';
import { readDateTime } from '../../core/date-time.ts';
import { endMistake, KNOWN_ISSUE_FIELDS, KNOWN_ISSUE_KINDS, KNOWN_ISSUE_MAX_DAYS } from '../../core/scan/known-issues.ts';
import { siteFrom } from '../links.ts';
import { oneOf } from '../options.ts';
import { CliError, errorMessage, printable, printableLines, UsageError } from '../errors.ts';
import { type Acceptance, causeLines, type Choice, mergeAcceptance, type Merged, selectTargets, siteOfReport } from './accepted-issues.ts';
import { numberOf } from '../values.ts';
import { noProgress, showProgress } from '../progress.ts';
import { readSource, understood } from '../report-source.ts';
import { writeReport } from '../service/reports.ts';
import { defineCommand } from './command.ts';
import { COMMON_OPTIONS, type CliContext } from './output.ts';

const ACCEPTED = 'What is accepted:';
const WHY = 'Why, and how long (all three are needed):';

const OPTIONS = {
  kind: {
    value: 'KIND',
    choices: KNOWN_ISSUE_KINDS,
    meaning: 'accepted (default) is about violations; fine and fault decide about elements that need review: a fault counts as a violation',
    group: ACCEPTED,
  },
  all: { meaning: 'all root causes with violations that are not known yet, or that need review', group: ACCEPTED },
  fingerprint: { value: 'F', multiple: true, meaning: 'this root cause; may be given several times', group: ACCEPTED },
  rule: { value: 'R', meaning: 'the elements of this rule with exactly the selector of --selector', group: ACCEPTED },
  selector: { value: 'S', meaning: 'the selector of the elements; needs --rule', group: ACCEPTED },
  reason: { value: 'TEXT', meaning: 'why it is accepted', group: WHY },
  owner: { value: 'NAME', meaning: 'who sees to it that it is fixed: a person or a team', group: WHY },
  until: {
    value: 'DATE',
    meaning: `the end, such as 2027-01-31, at most ${KNOWN_ISSUE_MAX_DAYS} days ahead. From then on it counts as a violation again`,
    group: WHY,
  },
  output: { value: 'FILE', short: 'o', meaning: 'write into this file, beside what it has; without it the manifest is printed' },
  name: { value: 'NAME', meaning: 'the name of the manifest (default: that of the file, else made from the host of the site)' },
  site: { value: 'HOST', meaning: 'the host in the manifest, if it is not that of the scan, as for a preview' },
  quiet: COMMON_OPTIONS.quiet,
  'max-wait': COMMON_OPTIONS['max-wait'],
} as const;

export const accept = defineCommand(
  {
    description:
      'Accepts violations of a scan, or of a JSON export, until a date: writes them into a KnownIssues manifest, which you commit and apply or use with curbcut scan --local --known-issues. Scans then judge their thresholds without them. With --kind it decides what needs review. Without a choice, it lists the root causes.',
    examples: `  curbcut accept report.json --all --reason "Found before we tested." \\
    --owner "web team" --until 2027-01-31 -o known-issues.yaml
  curbcut accept latest --rule image-alt --selector 'header > .logo' \\
    --reason "Redesign in May." --owner ada --until 2027-05-31`,
    exits: `  0    the manifest was written, or there is nothing to accept
  2    it was not: no choice, an unknown root cause, a file that cannot be read or is not valid, no network, …`,
  },
  OPTIONS,
  async ({ values, positionals }, context) => {
    const [source] = positionals as [string];
    const { output: file, all: keep } = values;
    const now = new Date();
    const choice = choiceOf(values);
    const kind = oneOf('kind', values.kind ?? 'accepted', KNOWN_ISSUE_KINDS, 'accept');
    const described = { ...describedBy(values, now), name: nameOf(values.name), keep };
    const maxWaitSeconds = numberOf('accept', 'max-wait', values['max-wait'], false)!;
    const progress = values.quiet ? noProgress() : showProgress(context.stderr);
    try {
      const { report } = await readSource(source, context, { maxWaitSeconds, progress });
      if (choice === null)
        throw new UsageError(
          [
            'What is accepted? Give --fingerprint, --rule with --selector, or --all.',
            ...understood(source, () => causeLines(report, kind)),
          ].join('\n'),
          'accept',
        );
      const { targets, host } = understood(source, () => ({ targets: selectTargets(report, choice, kind), host: siteOfReport(report) }));
      const acceptance = { ...described, kind, targets, site: values.site === undefined ? host : siteFrom('accept', 'site', values.site) };
      const merged = mergeAcceptance(file === undefined ? '' : await existingText(file), file ?? 'the manifest', acceptance, now);
      if (merged.added + merged.changed === 0) progress.note('There is nothing to accept or decide.');
      else await write(merged, file, values.quiet, context);
      return 0;
    } finally {
      progress.end();
    }
  },
);

/** Null: nothing is chosen. @throws UsageError */
function choiceOf(values: { fingerprint?: string[]; rule?: string; selector?: string; all: boolean }): Choice | null {
  const { fingerprint: fingerprints, rule, selector, all } = values;
  if ((rule === undefined) !== (selector === undefined)) throw new UsageError('--rule and --selector belong together.', 'accept');
  const ways: Choice[] = [
    ...(fingerprints === undefined ? [] : [{ fingerprints }]),
    ...(rule === undefined || selector === undefined ? [] : [{ rule, selector }]),
    ...(all ? [{ all }] : []),
  ];
  if (ways.length > 1) throw new UsageError('Only one of --fingerprint, --rule with --selector, and --all can be given.', 'accept');
  return ways[0] ?? null;
}

/** @throws UsageError */
function describedBy(
  values: { reason?: string; owner?: string; until?: string },
  now: Date,
): Pick<Acceptance, 'reason' | 'owner' | 'expiresAt'> {
  const { reason, owner, until } = values;
  if (reason === undefined || owner === undefined || until === undefined)
    throw new UsageError('--reason, --owner and --until are needed: why, who sees to the fix, and how long.', 'accept');
  for (const [option, value] of [
    ['reason', reason],
    ['owner', owner],
  ] as const) {
    const [mistake] = Value.Errors(KNOWN_ISSUE_FIELDS[option], value);
    const problem = value.trim() === '' ? 'must not be empty' : mistake?.message;
    if (problem !== undefined) throw new UsageError(`--${option} ${problem}.`, 'accept');
  }
  const expiresAt = /^\d{4}-\d\d-\d\d$/.test(until) ? `${until}T00:00:00Z` : until.toUpperCase();
  const ends = readDateTime(expiresAt);
  if (ends === null) throw new UsageError(`--until ${until} must be a date, such as 2027-01-31, or a time with its zone.`, 'accept');
  const mistake = endMistake(ends, now);
  if (mistake !== null) throw new UsageError(`--until ${until}: ${mistake}`, 'accept');
  return { reason, owner, expiresAt };
}

/** @throws UsageError */
function nameOf(name: string | undefined): string | undefined {
  if (name === undefined || /^(?=.{1,253}$)[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) return name;
  throw new UsageError(`--name ${name} must be the name of a resource: lower-case letters, digits, dots and hyphens.`, 'accept');
}

/** Empty if the file does not exist yet. @throws CliError */
async function existingText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw new CliError(`${file} cannot be read: ${errorMessage(error)}.`);
  }
}

/** @throws CliError */
async function write(
  { text, added, changed, kept }: Merged,
  file: string | undefined,
  quiet: boolean,
  { stdout }: CliContext,
): Promise<void> {
  if (file === undefined) return stdout.write(printableLines(text));
  await writeReport(file, text).catch((error: unknown) => {
    throw new CliError(`${file} cannot be written: ${errorMessage(error)}.`);
  });
  if (!quiet) stdout.write(`${printable(file)}: ${added} added, ${changed} changed, ${kept} kept.\n`);
}
