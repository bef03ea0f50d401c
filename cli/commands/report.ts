/** `curbcut report ID`: prints links to a scan's reports, or saves them. */
import { printable } from '../errors.ts';
import { resolveReference } from '../service/scan-reference.ts';
import type { Client } from '../service/client.ts';
import type { Link } from '../service/messages.ts';
import { checkFiles, saveReports } from '../service/reports.ts';
import { print } from './format.ts';
import { connect } from './service.ts';
import { defineCommand } from './command.ts';
import { OUTPUT_OPTIONS, outputOf } from './output.ts';

export const report = defineCommand(
  {
    description:
      'Prints links to the reports of a scan that is done, or saves the reports to files. It waits for a scan that is not complete for as long as --max-wait says.',
    examples: `  curbcut report latest --pdf report.pdf --sarif report.sarif
  curbcut report 3f2b8c1e --json`,
    exits: `  0    the links were printed, or the reports were saved
  2    there are no reports, or they could not be saved: an unknown ID, a scan that did not complete, no network, …`,
  },
  OUTPUT_OPTIONS,
  async ({ values, positionals }, context) => {
    const [name] = positionals as [string];
    const output = outputOf('report', values, context);
    const client = connect(context, output);
    await checkFiles(output.files);
    const scanId = await resolveReference(client, name, output.progress.note);
    const saved = output.files;
    if (Object.keys(saved).length === 0) {
      const links = await linksOf(client, scanId);
      if (!values.quiet) await print(context.stdout, output.format, { scan_id: scanId, links }, () => linksText(links));
      return 0;
    }
    await saveReports(client, scanId, saved);
    if (!values.quiet)
      await print(context.stdout, output.format, { scan_id: scanId, saved }, () => `Saved ${Object.values(saved).join(', ')}\n`);
    return 0;
  },
);

interface Links {
  pdf: Link;
  export: Link;
}

async function linksOf(client: Client, scanId: string): Promise<Links> {
  return { pdf: await client.reportLink(scanId, 'pdf'), export: await client.reportLink(scanId, 'json') };
}

function linksText({ pdf, export: exported }: Links): string {
  const minutes = Math.floor(Math.min(pdf.expires_in, exported.expires_in) / 60);
  const valid = `The links are valid for ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}. Anyone who has a link can open it.`;
  return `PDF report   ${printable(pdf.url)}\nJSON export  ${printable(exported.url)}\n${valid}\n`;
}
