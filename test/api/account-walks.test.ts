/**
 * Random sequences of what people can do with accounts. After each step, nobody reaches an organisation that did not invite an
 * address that the person proved, or hand the person a link. More and longer walks with NIGHTLY=1; WALK repeats one seed.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { NIGHTLY, nightly } from '../support/nightly.ts';
import { createRandom } from '../support/random.ts';
import { startProvider, type TestProvider } from '../support/oidc-provider.ts';
import { passwordOf, PEOPLE, World, type Name } from './account-world.ts';
import { startContext, type ApiContext, type MonitoredReplica } from './context.ts';

/** A commit takes the same walks as the one before it. */
const FIRST_SEED = 1;
const { walks: WALKS, steps: STEPS } = nightly({ walks: 4, steps: 20 }, { walks: 60, steps: 80 });
const MEMBERS = '/dashboard/settings/members';
const ACCOUNT = '/dashboard/account';

/** Each event, how often it is tried, and how. It returns whether something happened. */
const EVENTS: Readonly<Record<string, [weight: number, (world: World) => Promise<boolean>]>> = {
  'invited by mail': [4, (world) => world.invite(world.person(), world.address(), world.one(['owner', 'member']), true)],
  'invited by a link that is shown': [5, (world) => world.invite(world.person(), world.address(), world.one(['owner', 'viewer']), false)],
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
    12,
    async (world) => {
      const person = world.person();
      const link = world.link(person);
      return link !== undefined && world.use(person, link);
    },
  ],
  'signed in with a password': [
    4,
    async (world) => {
      const person = world.person();
      const fields = { email: world.address(), password: passwordOf(person.name) };
      await world.signOut(person);
      return (await person.mailOn.submit('/dashboard/sign-in', fields)).status === 303;
    },
  ],
  'signed in at the provider': [4, (world) => world.signInAtProvider(world.person())],
  'opened a link and signed in at the provider': [
    2,
    async (world) => {
      const person = world.person();
      return world.signInAtProvider(person, world.link(person));
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
/** Where walks begin, because chance rarely leads there. Each walk takes the next one. */
const STARTS: Readonly<Record<string, (world: World) => Promise<boolean>>> = {
  'an address that an attacker took': (world) => squat(world, world.people),
  'an address that an attacker took, and its owner proved': async (world) => {
    return (await squat(world, world.people)) && world.signInAtProvider(world.people.alice);
  },
  'an address that an attacker took, and a mail to its owner': async (world) => {
    return (await squat(world, world.people)) && world.invite(world.people.olive, world.people.alice.address, 'member', true);
  },
  'a member who invited someone': async (world) => {
    const { olive, alice, mallory } = world.people;
    const joined = (await world.invite(olive, alice.address, 'owner', true)) && (await world.use(alice, alice.links[0]!));
    return joined && world.invite(alice, mallory.address, 'owner', true);
  },
};

/** The attacker invites the address of another person where mail is off, and sets the password. */
async function squat(world: World, { mallory, alice }: World['people']): Promise<boolean> {
  return (await world.invite(mallory, alice.address, 'member', false)) && world.use(mallory, mallory.links[0]!);
}

const LOTS = Object.entries(EVENTS).flatMap(([name, [weight]]) => Array<string>(weight).fill(name));

describe('accounts in any order of events', function () {
  this.timeout(nightly(300_000, 3_600_000));
  let context: ApiContext;
  let mailOff: MonitoredReplica;
  let provider: TestProvider;
  const happened = new Map<string, number>();
  before(async () => {
    provider = await startProvider('https://curbcut.example/dashboard/sign-in/oidc/callback');
    const { issuer, clientId, clientSecret } = provider;
    const identityProvider = { issuer, clientId, clientSecret, name: 'Acme', localPasswords: true };
    context = await startContext({ mail: true, identityProvider, trustedProxies: ['127.0.0.1'] });
    mailOff = await context.replica({ mail: false, trustedProxies: ['127.0.0.1'] });
  });
  after(async () => {
    await context?.close();
    await provider?.close();
  });

  const seeds =
    process.env.WALK === undefined
      ? Array.from({ length: WALKS }, (_, index) => (NIGHTLY ? randomInt(2 ** 28) : FIRST_SEED) * 4 + (index % 4))
      : [Number(process.env.WALK)];
  // ASVS 8.2 and 8.3: access only by a permission that was given, on every path.
  for (const seed of seeds) {
    const [start, begin] = Object.entries(STARTS)[seed % Object.keys(STARTS).length]!;
    it(`give nobody access that was not given, from ${start} (WALK=${seed})`, async () => {
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
      world.trail.push(start);
      expect(await begin(world), start).to.equal(true);
      await world.check();
      for (let step = 0; step < STEPS; step += 1) {
        for (let tries = 0; tries < 5; tries += 1) {
          const event = world.one(LOTS);
          world.trail.push(event);
          if (await EVENTS[event]![1](world)) {
            happened.set(event, (happened.get(event) ?? 0) + 1);
            break;
          }
          world.trail.pop();
        }
        await world.check();
        await world.rest();
      }
    });
  }

  it('includes every kind of event', function () {
    const rare = ['deleted the account', 'gave a link away', 'forgot a password', 'changed a role', 'removed a member'];
    if (!NIGHTLY) expect([...happened.keys(), ...rare]).to.include.members(Object.keys(EVENTS));
    else expect([...happened.keys()]).to.have.members(Object.keys(EVENTS));
  });
});
