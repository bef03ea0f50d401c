/** `curbcut check URL`: tests one page of an earlier scan again, and says what is fixed. */
import { readAddress, siteOf } from '../../core/scan/site.ts';
import { CliError, UsageError } from '../errors.ts';
import type { Client } from '../service/client.ts';
import { checkFiles } from '../service/reports.ts';
import { isNoCheck, listAll, NEWEST, resolveReference } from '../service/scan-reference.ts';
import { defineCommand } from './command.ts';
import { OUTPUT_OPTIONS, outputOf, scanContinues } from './output.ts';
import { connect, followAndReport } from './service.ts';

export const check = defineCommand(
  {
    description:
      'Tests the page URL again, for one credit, and compares it with an earlier scan of its site: whether a root cause, or all violations of the page, are fixed.',
    examples: `  curbcut check https://www.example.org/shop
  curbcut check https://www.example.org/shop \\
    --cause 8f14e45fceea167a --with 3f2b8c1e`,
    exits: `  0    fixed
  1    still there; without --cause also: there are other violations
  2    it is unknown whether they are fixed: a page that could not be tested, no scan to compare with, no network, …
  130  interrupted (143: terminated); the scan continues: curbcut follow resumes, curbcut cancel ends it`,
  },
  {
    cause: { value: 'FINGERPRINT', meaning: 'the root cause, as reports and the dashboard name it (default: all violations of the page)' },
    with: {
      value: 'SCAN',
      meaning: 'the scan to compare with: ID, its beginning, or latest (default: the newest one of the host that is done)',
    },
    ...OUTPUT_OPTIONS,
  },
  async ({ values, positionals }, context, hint) => {
    const { cause, with: named } = values;
    const { url } = readAddress(positionals[0]!);
    if (cause !== undefined && !/^[0-9a-f]{16}$/.test(cause))
      throw new UsageError(`--cause ${cause} must be a fingerprint of 16 hexadecimal digits.`, 'check');
    const output = { ...outputOf('check', values, context), isCheck: true };
    const client = connect(context, output);
    await checkFiles(output.files);
    const { note } = output.progress;
    const scan = named === undefined ? await newestOf(client, siteOf(url)) : await resolveReference(client, named, note);
    const accepted = await client.submit({ url, thresholds: {}, checkOf: { scan, cause } }, context.newId());
    scanContinues(hint, accepted.scan_id);
    note(`Scan ${accepted.scan_id}, compared with ${scan}`);
    return followAndReport(client, accepted.scan_id, output, values.quiet, context, hint);
  },
);

/** @throws CliError if there is none */
async function newestOf(client: Client, site: string): Promise<string> {
  const { data } = await listAll(client, { status: 'done', site, limit: NEWEST });
  const newest = data.find(isNoCheck);
  if (newest === undefined)
    throw new CliError(`There is no done scan of ${site} to compare with.`, 'To name one of another host: --with ID');
  return newest.scan_id;
}
