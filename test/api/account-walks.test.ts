/**
 * Random sequences of what people can do with accounts. After each step, nobody reaches an organisation that did not invite an
 * address that the person proved, or hand the person a link. More and longer walks with NIGHTLY=1; WALK repeats one seed.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createRandom } from '../support/random.ts';
import { startProvider, type TestProvider } from '../support/oidc-provider.ts';
import { passwordOf, PEOPLE, World, type Name } from './account-world.ts';
import { startContext, type ApiContext, type MonitoredReplica } from './context.ts';

const NIGHTLY = process.env.NIGHTLY === '1';
const { walks: WALKS, steps: STEPS } = NIGHTLY ? { walks: 40, steps: 120 } : { walks: 3, steps: 45 };
const MEMBERS = '/dashboard/settings/members';
const ACCOUNT = '/dashboard/account';

/** Each event, how often it is tried, and how. It returns whether something happened. */
const EVENTS: Readonly<Record<string, [weight: number, (world: World) => Promise<boolean>]>> = {
  'invited by mail': [4, (world) => world.invite(world.person(), world.address(), world.one(['owner', 'member']), true)],
  'invited by a link that is shown': [4, (world) => world.invite(world.person(), world.address(), world.one(['owner', 'viewer']), false)],
  'gave a link away': [
    2,
    async (world) => {
      const [from, to] = [world.person(), world.person()];
      const link = world.one(from.links.filter((one) => world.isShown(one)));
      if (link === undefined || from === to) return false;
      to.links.push(link);
      return true;
    },
  ],
  'used a link': [
    8,
    async (world) => {
      const person = world.person();
      const link = world.one(person.links);
      return link !== undefined && world.use(person, link);
    },
  ],
  'signed in with a password': [
    4,
    async (world) => {
      const person = world.person();
      const fields = { email: world.address(), password: passwordOf(person.name) };
      await person.mailOn.submit('/dashboard/sign-out', {}, ACCOUNT);
      return (await person.mailOn.submit('/dashboard/sign-in', fields)).status === 303;
    },
  ],
  'signed in at the provider': [2, (world) => world.signInAtProvider(world.person())],
  'opened a link and signed in at the provider': [
    2,
    async (world) => {
      const person = world.person();
      return world.signInAtProvider(person, world.one(person.links));
    },
  ],
  'chose on the page of organisations': [8, (world) => world.choose(world.person())],
  'forgot a password': [2, (world) => world.forget(world.person(), world.address())],
  'removed a member': [
    3,
    async (world) => {
      const [person, email] = [world.person(), world.address()];
      const organisation = await world.current(person);
      if (organisation === null) return false;
      const answer = await world.submit(person, `${MEMBERS}/remove`, { email }, ACCOUNT);
      if (answer.status === 303) world.model.left(organisation, email);
      return answer.status === 303;
    },
  ],
  'changed a role': [
    3,
    async (world) => {
      const [person, email, role] = [world.person(), world.address(), world.one(['owner', 'member'])];
      const organisation = await world.current(person);
      if (organisation === null) return false;
      const answer = await world.submit(person, `${MEMBERS}/role`, { email, role }, ACCOUNT);
      if (answer.status === 303) world.model.role(organisation, email, role);
      return answer.status === 303;
    },
  ],
  'deleted the account': [
    1,
    async (world) => {
      const person = world.person();
      const { signedInAs: email } = await world.look(person);
      if (email === null) return false;
      const answer = await world.submit(person, `${ACCOUNT}/delete`, { email, password: passwordOf(person.name) }, ACCOUNT);
      if (answer.status === 303) world.model.deleted(email);
      return answer.status === 303;
    },
  ],
};
const LOTS = Object.entries(EVENTS).flatMap(([name, [weight]]) => Array<string>(weight).fill(name));

describe('accounts in any order of events', function () {
  this.timeout(NIGHTLY ? 3_600_000 : 300_000);
  let context: ApiContext;
  let mailOff: MonitoredReplica;
  let provider: TestProvider;
  const happened = new Map<string, number>();
  before(async () => {
    provider = await startProvider('https://curbcut.example/dashboard/sign-in/oidc/callback');
    const { issuer, clientId, clientSecret } = provider;
    const identityProvider = { issuer, clientId, clientSecret, name: 'Acme', localPasswords: true };
    context = await startContext({ mail: true, identityProvider });
    mailOff = await context.replica({ mail: false });
  });
  after(async () => {
    await context?.close();
    await provider?.close();
  });

  const seeds = process.env.WALK === undefined ? Array.from({ length: WALKS }, () => randomInt(2 ** 31)) : [Number(process.env.WALK)];
  // ASVS 8.2 and 8.3: access only by a permission that was given, on every path.
  for (const seed of seeds)
    it(`give nobody access that was not given (WALK=${seed})`, async () => {
      const random = createRandom(seed);
      const id = randomUUID().slice(0, 8);
      const addresses = Object.fromEntries(PEOPLE.map((name) => [name, `${name}-${id}@people.example`])) as Record<Name, string>;
      const world = new World(context, mailOff, provider, random, addresses);
      const founders: [string, Name][] = [['acme', 'olive'], ['evil', 'mallory']]; // prettier-ignore
      for (const [name, founder] of founders) {
        const organisation = `${name}-${id}`;
        await context.stores.organisations.add({ id: organisation, displayName: organisation, plan: 'team', namespaces: [] });
        await context.stores.users.add({
          email: addresses[founder],
          organisation,
          password: passwordOf(founder),
          createdBy: 'curbcut-admin',
        });
        await world.people[founder].mailOn.signIn(addresses[founder], passwordOf(founder));
        world.model.founded(organisation, founder);
      }
      for (let step = 0; step < STEPS; step += 1) {
        const event = world.one(LOTS);
        world.trail.push(event);
        if (await EVENTS[event]![1](world)) happened.set(event, (happened.get(event) ?? 0) + 1);
        else world.trail.pop();
        await world.check();
        await world.rest();
      }
    });

  it('includes every kind of event', function () {
    if (!NIGHTLY) expect([...happened.values()].reduce((sum, count) => sum + count, 0)).to.be.above(STEPS / 3);
    else expect([...happened.keys()]).to.have.members(Object.keys(EVENTS));
  });
});
