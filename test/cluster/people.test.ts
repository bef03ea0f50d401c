/** The evaluation as people use it, on a real cluster: a public scan and its mail, sign-in, a key, and a scan with it. */
import { expect } from 'chai';
import { DEMO_EMAIL } from '../../local/demo-organisation.ts';
import { signIn } from '../support/sign-in.ts';
import { clusterAndHelm, eventually, follow, kubectl, sharedEvaluation, type Evaluation } from './release.ts';

interface Mail {
  subject: string;
  text: string;
}

describe('the evaluation for people on a cluster', function () {
  this.timeout(300_000);
  let product: Evaluation;
  before(async function () {
    if (!(await clusterAndHelm())) return this.skip();
    product = await sharedEvaluation();
  });

  const demo = () => `http://curbcut-demo.${product.namespace}.svc/`;

  it('sends the result of a public scan to the inbox of its mail catcher', async () => {
    const email = 'visitor@example.com';
    const body = JSON.stringify({ url: demo(), email, locale: 'de' });
    const headers = { 'Content-Type': 'application/json' };
    const requested = await fetch(`${product.url}/v1/public/scan-request`, { method: 'POST', headers, body });
    const text = await requested.text();
    expect(requested.status, text).to.equal(200);
    const { token } = JSON.parse(text) as { token: string };
    const [mail] = await eventually(
      async () => {
        const answer = await fetch(`${product.inboxUrl}/api/mails?to=${encodeURIComponent(email)}`);
        return ((await answer.json()) as { data: Mail[] }).data;
      },
      (mails) => mails.length > 0,
      120_000,
    );
    const address = `${product.url}/de/scan/${token}`;
    expect(mail!.text).to.contain(address);
    const page = await fetch(address);
    expect(page.status).to.equal(200);
    expect(await page.text()).to.contain('<html lang="de">');
  });

  it('lets the demo user sign in with the password of the Secret, create a key, and use it', async () => {
    const secret = await kubectl(['get', 'secret', 'curbcut-evaluation', '-n', product.namespace, '-o', 'jsonpath={.data.demo-password}']);
    const person = await signIn(product.url, { email: DEMO_EMAIL, password: Buffer.from(secret, 'base64').toString() });
    const path = '/dashboard/settings/api-keys/new';
    const form = (await person.get(path)).text;
    const formId = /name="form_id" value="([^"]+)"/.exec(form)![1]!;
    const created = await person.submit(path, { name: 'cluster', scopes: 'scans:write', form_id: formId });
    const key = /svc_live_[0-9A-Za-z]{38}/.exec(created.text)?.[0];
    expect(key, created.text.slice(0, 2000)).to.be.a('string');

    const headers = { 'X-API-Key': key! };
    const answer = await product.ask('/v1/ci/scans', { method: 'POST', body: JSON.stringify({ url: demo(), max_pages: 1 }), headers });
    const text = await answer.text();
    expect(answer.status, text).to.equal(202);
    const { scan_id: id } = JSON.parse(text) as { scan_id: string };
    expect((await follow(product.ask, id)).at(-1)).to.include({ event: 'complete', status: 'done' });
  });
});
