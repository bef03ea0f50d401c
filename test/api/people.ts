/** Users for tests of the dashboard. */
import { randomUUID } from 'node:crypto';
import type { Role } from '../../core/accounts.ts';
import type { ApiContext } from './context.ts';
import { createClient, type Client } from './client.ts';

export const PASSWORD = 'seven blue bicycles';

export interface Person {
  email: string;
  organisation: string;
  client: Client;
}

/** Adds a user without signing in. */
export async function addPerson(context: ApiContext, organisation: string, role: Role = 'owner'): Promise<Person> {
  const email = `${role}-${randomUUID().slice(0, 8)}@people.example`;
  await context.stores.users.add({ email, organisation, password: PASSWORD, role });
  return { email, organisation, client: createClient(context.url) };
}

/** The path of the link in the newest mail to an address. @throws if there is none */
export async function mailedLink(context: Pick<ApiContext, 'db'>, to: string): Promise<string> {
  const [mail] = await context.db.collection('outbox').find({ to }).sort({ createdAt: -1, _id: -1 }).limit(1).toArray();
  if (mail === undefined) throw new Error(`no mail to ${to}`);
  return new URL(mail.data.url as string).pathname;
}

/** Adds a user and signs in. @param organisation default: a new one */
export async function signedIn(context: ApiContext, options: { organisation?: string; role?: Role } = {}): Promise<Person> {
  const organisation = options.organisation ?? (await context.organisation()).id;
  const person = await addPerson(context, organisation, options.role);
  await person.client.signIn(person.email, PASSWORD);
  return person;
}
