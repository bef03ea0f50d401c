/** The tools of `curbcut mcp`: what an agent may say, and what it gets. */
import type { ToolAnnotations } from '@modelcontextprotocol/server';
import { type Static, type TObject, Type } from 'typebox';
import { fromSnakeKeys, oneOf, snakeKeys } from '../../core/schemas.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { LOCALES } from '../../core/scan/locales.ts';
import { CrawlRules, ScanOptions } from '../../core/scan/options.ts';
import { readAddress } from '../../core/scan/site.ts';
import { Thresholds } from '../../core/scan/thresholds.ts';
import type { Report } from '../../report/schema/report.ts';
import { understood } from '../report-source.ts';
import { causeAnswer, causesAnswer, checkAnswer, ruleAnswer, scanAnswer } from './answers.ts';
import type { Call, Scans } from './scans.ts';

type Properties = Parameters<typeof Type.Object>[0];
type Answer<I> = (input: I, call: Call) => Promise<object>;

const tool = <const P extends Properties>(about: [string, string, ToolAnnotations], properties: P, answer: Answer<Static<TObject<P>>>) => {
  const [title, description, annotations] = about;
  const input = Type.Object(properties, { additionalProperties: false });
  return { title, description, annotations, input, answer: answer as unknown as Answer<object> };
};
export type Tool = ReturnType<typeof tool>;

const OPTIONS = Type.Partial(Type.Pick(ScanOptions, ['maxPages', 'wcagVersion', 'wcagLevel', 'locale'])).properties;
const CRAWL = Type.Partial(Type.Pick(CrawlRules, ['include', 'exclude'])).properties;
const THRESHOLDS = Type.Pick(Thresholds, ['failOnSeverity', 'minScore']).properties;
const namesOf = <T extends object>(table: T) => Object.keys(table) as (keyof T & string)[];

const { url: URL_FIELD } = ScanOptions.properties;
const optional = Type.Optional;
const SCAN = optional(
  Type.String({ maxLength: 64, description: 'A scan by its ID, or latest of the service. Default: the last one of this session.' }),
);
const OFFSET = optional(Type.Integer({ minimum: 0, description: 'next_offset of the answer before.' }));
const FINGERPRINT = Type.String({ pattern: '^[0-9a-f]{16}$', description: 'The fingerprint of a root cause.' });
const RULE = Type.String({ maxLength: 100, description: 'The ID of a rule, such as image-alt.' });

const READS: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
const STARTS: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true };

const LOCAL =
  'True: on this machine. It may reach itself, public addresses, and what ALLOW_TARGETS of this server names. False: by the service.';
const CHECK =
  'Tests one page now and compares it with an earlier scan: the violations of a root cause, or all on the page, are fixed or still_there; new: all are fixed, and there are others; unknown has a reason.';

/** @param isLocal whether scans run on this machine if the agent does not say */
export function toolsOf(scans: Scans, isLocal: boolean): Readonly<Record<string, Tool>> {
  /** @throws CliError if the report is of another version */
  const read = <T>(report: Report, use: (report: Report) => T): T => understood(`scan ${report.scan.id}`, () => use(report));
  return {
    scan: tool(
      ['Scan a site', 'Crawls a site from a URL, tests its pages, and answers with the verdict and the first root causes.', STARTS],
      {
        url: URL_FIELD,
        ...snakeKeys({ ...OPTIONS, ...CRAWL, ...THRESHOLDS }),
        local: optional(Type.Boolean({ default: isLocal, description: LOCAL })),
      },
      async ({ url, local = isLocal, ...input }, call) => {
        const options = { ...readAddress(url), ...fromSnakeKeys(input, namesOf(OPTIONS)) };
        const scan = { ...options, crawl: fromSnakeKeys(input, namesOf(CRAWL)), thresholds: fromSnakeKeys(input, namesOf(THRESHOLDS)) };
        const { result, report } = await scans.run(scan, local, call);
        return read(report, () => scanAnswer(result, report));
      },
    ),
    check: tool(
      ['Check a page again', CHECK, STARTS],
      { url: URL_FIELD, fingerprint: optional(FINGERPRINT), scan: SCAN },
      async ({ url, fingerprint: cause, scan }, call) => {
        const before = await scans.find(scan, call);
        const options = { ...fromSnakeKeys(before.scan.options, namesOf(OPTIONS)), maxPages: 1, thresholds: {} };
        const checkOf = { scan: before.scan.id, cause };
        const { report } = await scans.run({ ...options, url, checkOf }, before.scan.local === true, call);
        return read(before, () => checkAnswer(report, before, cause));
      },
    ),
    causes: tool(
      ['List root causes', 'Lists the root causes that a scan found: what to fix to pass first, then the worst.', READS],
      { scan: SCAN, impact: optional(oneOf(IMPACTS)), rule: optional(RULE), offset: OFFSET },
      async ({ scan, ...filter }, call) => read(await scans.find(scan, call), (report) => causesAnswer(report, filter)),
    ),
    cause: tool(
      ['Describe a root cause', 'Says of one root cause why it matters, how to fix it, and which elements on which pages have it.', READS],
      { fingerprint: FINGERPRINT, scan: SCAN, offset: OFFSET },
      async ({ fingerprint, scan, offset }, call) =>
        read(await scans.find(scan, call), (report) => causeAnswer(report, fingerprint, offset)),
    ),
    rule: tool(
      ['Explain a rule', 'Says what a rule checks, why it matters, how to fix violations, and which standards it belongs to.', READS],
      { rule: RULE, locale: optional(oneOf(LOCALES, { default: 'en' })) },
      ({ rule, locale = 'en' }) => Promise.resolve(ruleAnswer(rule, locale)),
    ),
  };
}
