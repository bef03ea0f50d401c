/** `curbcut comment FILE|ID`: makes the comment on a pull request from a report, and writes it there. */
import { annotationsOf, COMMENT_MIN_CHARACTERS, commentMarker, commentOf } from '../../report/comment/comment.ts';
import { printableLines, UsageError } from '../errors.ts';
import { dashboardLink } from '../links.ts';
import { numberOf } from '../values.ts';
import { noProgress, showProgress } from '../progress.ts';
import { githubOf, gitlabOf, publishComment } from '../pull-request.ts';
import { readSource, understood, type Source, type Waiting } from '../report-source.ts';
import { createBudget } from '../service/budget.ts';
import { defineCommand } from './command.ts';
import { COMMON_OPTIONS, waitNote, type CliContext } from './output.ts';

/** GitHub refuses comments of more than 65,536 characters. */
export const COMMENT_MAX_CHARACTERS = 60_000;
/** How many root causes a comment describes. */
export const COMMENT_CAUSES = 10;

const OPTIONS = {
  github: { meaning: 'write it on the pull request of this job on GitHub: GITHUB_TOKEN, and what GitHub sets for a job' },
  gitlab: { meaning: 'write it on the merge request of this job on GitLab: GITLAB_TOKEN, and what GitLab sets for a job' },
  'pull-request': { value: 'N', meaning: 'another pull request or merge request than that of this job' },
  print: { meaning: 'print the text too' },
  annotations: { meaning: 'print the root causes as annotations of a job on GitHub' },
  name: { value: 'NAME', meaning: 'tells several comments of one pull request apart (default: the host of the site)' },
  link: {
    value: 'URL',
    meaning:
      'where the whole report is (default: its page in the dashboard of the service that it was read from, or for a file that of CURBCUT_URL; a scan with --local has none)',
  },
  'max-causes': {
    value: 'N',
    default: String(COMMENT_CAUSES),
    meaning: `the number of root causes to describe (default ${COMMENT_CAUSES})`,
  },
  'max-characters': {
    value: 'N',
    default: String(COMMENT_MAX_CHARACTERS),
    meaning: `the longest text that the system accepts (default ${COMMENT_MAX_CHARACTERS}, for GitHub and GitLab)`,
  },
  quiet: COMMON_OPTIONS.quiet,
  'max-wait': COMMON_OPTIONS['max-wait'],
} as const;

/** The text of a comment, the line by which it is found again, and the annotations of the job. */
interface Made {
  marker: string;
  text: string;
  annotations: string;
}

export const comment = defineCommand(
  {
    description:
      'Makes the text of one comment from a JSON export, or from the scan with this ID: the verdict, the numbers, and the root causes of new violations with how to fix them. Prints it as Markdown, or writes it on the pull request of this job. The next run updates the same comment.',
    examples: `  curbcut comment report.json --github
  curbcut comment latest --max-causes 3`,
    exits: `  0    the comment was printed or written, or this job has no pull request
  2    it was not: a missing permission, an export that cannot be read, no network, …`,
  },
  OPTIONS,
  async ({ values, positionals }, context) => {
    const [source] = positionals as [string];
    if (values.github && values.gitlab) throw new UsageError('--github and --gitlab cannot be used together.', 'comment');
    const publishes = values.github || values.gitlab;
    if (values['pull-request'] !== undefined && !publishes) throw new UsageError('--pull-request needs --github or --gitlab.', 'comment');
    const maxWaitSeconds = whole('max-wait', values['max-wait']);
    const progress = values.quiet ? noProgress() : showProgress(context.stderr);
    try {
      const made = makeComment(await readSource(source, context, { maxWaitSeconds, progress }), source, values, context);
      if (values.print || !(publishes || values.annotations)) context.stdout.write(printableLines(made.text));
      if (values.annotations) context.stdout.write(made.annotations);
      if (publishes) await publish(made, values, context, { maxWaitSeconds, progress });
      return 0;
    } finally {
      progress.end();
    }
  },
);

function makeComment(
  { report, service }: Source,
  source: string,
  values: { name?: string; link?: string; 'max-causes': string; 'max-characters': string },
  { environment }: CliContext,
): Made {
  const maxCharacters = whole('max-characters', values['max-characters']);
  if (maxCharacters < COMMENT_MIN_CHARACTERS)
    throw new UsageError(`--max-characters ${maxCharacters} is less than ${COMMENT_MIN_CHARACTERS}.`, 'comment');
  if (values.name === '' || (values.name?.length ?? 0) > 100) throw new UsageError('--name must have 1 to 100 characters.', 'comment');
  if (values.link !== undefined && !/^https?:\/\//.test(values.link))
    throw new UsageError(`--link ${values.link} is not a web address.`, 'comment');
  const causes = whole('max-causes', values['max-causes']);
  return understood(source, () => {
    // Not the service of a stored login, which need not know the scan of a file.
    const dashboard = report.scan.local === true ? undefined : (service ?? environment.CURBCUT_URL);
    const link = values.link ?? dashboardLink(dashboard, report.scan.id);
    const { name } = values;
    const text = commentOf(report, { name, causes, maxCharacters, link });
    return { marker: commentMarker(report, name), text, annotations: annotationsOf(report) };
  });
}

const whole = (option: string, text: string): number => numberOf('comment', option, text, option !== 'max-wait')!;

/** @throws CliError */
async function publish(
  { marker, text }: Made,
  values: { github: boolean; 'pull-request'?: string },
  context: CliContext,
  { maxWaitSeconds, progress }: Waiting,
): Promise<void> {
  const given = values['pull-request'];
  const number = given === undefined ? undefined : whole('pull-request', given);
  const found = values.github ? await githubOf(context.environment, number) : gitlabOf(context.environment, number);
  if (!found.ok) {
    progress.note(found.message);
    return;
  }
  const done = await publishComment(found.system, marker, text, {
    ...context,
    budget: createBudget(maxWaitSeconds, context.monotonic),
    onWait: waitNote(progress),
  });
  progress.note(`The comment on ${found.system.name} was ${done}.`);
}
