/**
 * People who do at random what pages let them do, and what may follow from it. `World` sends the requests; `Model` knows from
 * the same events who may reach which organisation, and fails as soon as someone reaches another one.
 */
import { AssertionError } from 'chai';
import { createClient, tokenIn, type Client, type PageAnswer } from './client.ts';
import type { ApiContext, MonitoredReplica } from './context.ts';
import type { TestProvider } from '../support/oidc-provider.ts';
import { Model, ownerOf } from './account-model.ts';

export const PEOPLE = ['olive', 'mallory', 'alice'] as const;
export type Name = (typeof PEOPLE)[number];
export const passwordOf = (name: Name): string => `${name} rides nine green bicycles`;
const MEMBERS = '/dashboard/settings/members';
const ORGANISATIONS = '/dashboard/organisations';
const BASE = 'https://curbcut.example';

interface Person {
  name: Name;
  address: string;
  /** Two replicas, with mail and without. */
  mailOn: Client;
  mailOff: Client;
  /** Links that the person got by mail, or was given. */
  links: string[];
}

export interface Seen {
  /** The address that the browser is signed in with. */
  signedInAs: string | null;
  organisations: string[];
  page: string;
}

/** Each world has a network of its own, because the limits of strangers count networks. */
let worlds = 0;

export class World {
  readonly model: Model;
  readonly people: Record<Name, Person>;
  readonly trail: string[] = [];
  private readonly context: ApiContext;
  private readonly provider: TestProvider;
  private readonly random: () => number;

  constructor(
    context: ApiContext,
    mailOff: MonitoredReplica,
    provider: TestProvider,
    random: () => number,
    addresses: Record<Name, string>,
  ) {
    this.context = context;
    this.provider = provider;
    this.random = random;
    this.model = new Model(addresses);
    worlds += 1;
    const network = { 'X-Forwarded-For': `10.${worlds >> 8}.${worlds & 255}.1` };
    const person = (name: Name): Person => {
      const [on, off] = [createClient(context.url, network), createClient(mailOff.url, network)];
      return { name, address: addresses[name], mailOn: on, mailOff: off, links: [] };
    };
    this.people = { olive: person('olive'), mallory: person('mallory'), alice: person('alice') };
  }

  one<T>(of: readonly T[]): T {
    return of[Math.floor(this.random() * of.length)]!;
  }
  /** One of the newest links of a person. */
  link({ links }: Person): string | undefined {
    return this.one(links.slice(-3));
  }
  person(): Person {
    return this.people[this.one(PEOPLE)];
  }
  address(): string {
    return this.person().address;
  }

  /** What a person sees of the own account. */
  async look({ mailOn }: Person): Promise<Seen> {
    const { status, text } = await mailOn.get(ORGANISATIONS);
    if (status !== 200) return { signedInAs: null, organisations: [], page: '' };
    const rows = /<table[^]*?<\/table>/.exec(text)?.[0] ?? '';
    return {
      signedInAs: /href="\/dashboard\/account"[^>]*>([^<]*)</.exec(text)![1]!,
      organisations: [...rows.matchAll(/name="organisation" value="([^"]+)"/g)].map(([, id]) => id!),
      page: text,
    };
  }

  /** Fails if anyone reaches what the model does not permit. */
  async check(): Promise<void> {
    for (const name of PEOPLE) {
      const seen = await this.look(this.people[name]);
      const problem = this.model.problem(name, seen.signedInAs, seen.organisations);
      if (problem !== null) throw new AssertionError(`${problem}, after\n${this.trail.join('\n')}`);
    }
  }

  private mailed(event: { kind: 'invitation'; organisation: string; to: string } | { kind: 'reset'; to: string }): Promise<string | null> {
    const kind = event.kind === 'invitation' ? 'invitation' : 'password_reset';
    return this.context.db
      .collection('outbox')
      .find({ to: event.to, kind })
      .sort({ createdAt: -1, _id: -1 })
      .limit(1)
      .next()
      .then((mail) => (mail === null ? null : new URL(mail['data'].url as string).pathname));
  }

  /** Someone invites an address to the organisation in which the browser is. */
  async invite(person: Person, to: string, role: string, mail: boolean): Promise<boolean> {
    const organisation = await this.current(person);
    const seen = await this.look(person);
    const client = mail ? person.mailOn : person.mailOff;
    for (const [name, value] of person.mailOn.cookies) client.cookies.set(name, value);
    if (organisation === null || (await client.get(MEMBERS)).status !== 200) return false;
    const answer = await client.submit(`${MEMBERS}/invitations`, { email: to, role }, MEMBERS);
    const shown = /(\/dashboard\/invitation\/[\w-]{43})/.exec(answer.text)?.[1];
    if (mail ? answer.status !== 303 : shown === undefined) return false;
    const link = shown ?? (await this.mailed({ kind: 'invitation', organisation, to }))!;
    (mail ? this.people[ownerOf(this.model.addresses, to)] : person).links.push(link);
    this.model.invited({ organisation, to, by: seen.signedInAs!, link, mailed: mail, role });
    return true;
  }

  /** The organisation that the browser acts for. */
  async current({ mailOn }: Person): Promise<string | null> {
    const { status, text } = await mailOn.get('/dashboard/credits');
    return status === 200 ? /class="account-organisation"[^>]*>([^<]*)</.exec(text.replace(/\s+/g, ' '))![1]!.trim() : null;
  }

  /** Opens the link of an invitation or of a reset, and does what its page offers. */
  async use(person: Person, link: string): Promise<boolean> {
    let { status, text } = await person.mailOn.get(link);
    if (text.includes('You are signed in with another address')) {
      await this.signOut(person);
      ({ status, text } = await person.mailOn.get(link));
    }
    if (status !== 200) return false;
    const before = (await this.look(person)).signedInAs;
    const fresh = text.includes('name="new-password"');
    const fields: Record<string, string> = fresh ? { 'new-password': passwordOf(person.name) } : {};
    const answer = await person.mailOn.post(link, { _csrf: tokenIn(text), ...fields });
    if (answer.status !== 303) return false;
    if (link.includes('/reset-password/')) this.model.reset(person.name, (await this.look(person)).signedInAs!);
    else this.model.accepted(person.name, link, fresh ? 'new_password' : 'signed_in', before);
    return true;
  }

  async signOut({ mailOn }: Person): Promise<void> {
    await mailOn.submit('/dashboard/sign-out', {}, '/dashboard/account');
  }

  async signInAtProvider(person: Person, link?: string): Promise<boolean> {
    this.provider.person = { sub: person.name + person.address, email: person.address, email_verified: true };
    const next = link === undefined ? '' : `?next=${encodeURIComponent(link)}`;
    const start = (await person.mailOn.get(`/dashboard/sign-in/oidc${next}`)).headers.get('location')!;
    const callback = (await this.provider.signIn(start)).slice(BASE.length);
    const location = (await person.mailOn.get(callback)).headers.get('location')!;
    if (location.includes('problem=')) return false;
    this.model.proved(person.name, person.address);
    return true;
  }

  /** Presses one of the buttons on the page of organisations. */
  async choose(person: Person): Promise<boolean> {
    const { page, signedInAs } = await this.look(person);
    const forms = [
      ...page.matchAll(
        /action="\/dashboard\/organisations\/(join|decline|confirm|leave|switch)"[^]*?name="(id|organisation)" value="([^"]+)"/g,
      ),
    ];
    if (forms.length === 0) return false;
    const [, action = '', field = '', value = ''] = this.one(forms);
    const answer = await person.mailOn.submit(`${ORGANISATIONS}/${action}`, { [field]: value }, ORGANISATIONS);
    if (answer.status !== 303) return false;
    this.trail.push(`  ${action} ${value}`);
    this.model.chose(person.name, signedInAs!, action, value);
    return true;
  }

  async submit(person: Person, path: string, fields: Record<string, string>, from: string): Promise<PageAnswer> {
    return person.mailOn.submit(path, fields, from);
  }

  /** Asks for a link to set a new password, which goes to the owner of the address. */
  async forget(person: Person, address: string): Promise<boolean> {
    await person.mailOn.post('/dashboard/reset-password', {
      _csrf: tokenIn((await person.mailOn.get('/dashboard/reset-password')).text),
      email: address,
    });
    const link = await this.mailed({ kind: 'reset', to: address });
    if (link === null) return false;
    this.people[ownerOf(this.model.addresses, address)].links.push(link);
    return true;
  }

  /** Whether a link of an invitation was shown where mail is off. Mails stay with their owners. */
  isShown(link: string): boolean {
    return this.model.wasShown(link);
  }

  /** Forgets limits, which are not what is tested. */
  async rest(): Promise<void> {
    await this.context.db.collection('limits').deleteMany({});
  }
}
