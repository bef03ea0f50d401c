/** How to submit a first scan from a terminal. Pure. */
import { card, code } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';

/** @param baseUrl the address of this service */
export const firstCommand = (baseUrl: string): Html =>
  card({
    title: 'From the command line',
    body: html`<p>With an API key, in a terminal or in a pipeline:</p>
      ${code({ id: 'first-command', label: 'the command', text: `CURBCUT_URL=${baseUrl} CURBCUT_API_KEY=svc_live_… curbcut scan https://example.com/` })}
      <p>New sites and scans appear here by themselves.</p>`,
  });
