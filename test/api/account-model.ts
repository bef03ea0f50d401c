/** What may follow from the events of a world of accounts: an independent, simple account of who may reach what. */
import type { Name } from './account-world.ts';

interface Invited {
  organisation: string;
  to: string;
  /** The address of the account that invited. */
  by: string;
  link: string;
  mailed: boolean;
  role: string;
  /** Whether it can still be accepted. */
  open: boolean;
}

interface Membership {
  role: string;
  /** Those who joined with the account, or confirmed it, and still own what they joined with. */
  people: Set<Name>;
}

export const ownerOf = (addresses: Readonly<Record<Name, string>>, address: string): Name =>
  (Object.entries(addresses) as [Name, string][]).find(([, one]) => one === address)![0];

export class Model {
  readonly addresses: Readonly<Record<Name, string>>;
  /** By organisation and address. */
  private readonly members = new Map<string, Membership>();
  private readonly invitations: Invited[] = [];
  /** Accounts that the owner of the address has proved to own. */
  private readonly proven = new Set<string>();
  /** What was wrong when it happened. */
  private wrong: string | null = null;

  constructor(addresses: Readonly<Record<Name, string>>) {
    this.addresses = addresses;
  }

  private key = (organisation: string, address: string): string => `${organisation} ${address}`;
  private owner = (address: string): Name => ownerOf(this.addresses, address);

  /** An organisation's first owner, by the administrator. */
  founded(organisation: string, name: Name): void {
    this.members.set(this.key(organisation, this.addresses[name]), { role: 'owner', people: new Set([name]) });
  }

  invited(invitation: Omit<Invited, 'open'>): void {
    const { organisation, to, by } = invitation;
    if (this.members.get(this.key(organisation, by))?.role !== 'owner')
      this.wrong = `${by} invited to ${organisation} without being an owner`;
    for (const earlier of this.invitations) if (earlier.organisation === organisation && earlier.to === to) earlier.open = false;
    this.invitations.push({ ...invitation, open: true });
  }

  wasShown(link: string): boolean {
    return this.invitations.some((one) => one.link === link && !one.mailed);
  }

  /** A link was used. @param how whether the person set a new password, or was signed in @param before who was signed in */
  accepted(name: Name, link: string, how: 'new_password' | 'signed_in', before: string | null): void {
    const invitation = this.invitations.find((one) => one.link === link)!;
    const { to, mailed, organisation } = invitation;
    if (mailed && this.owner(to) !== name) this.wrong = `${name} used the mail of another person`;
    if (how === 'signed_in' && before !== to) this.wrong = `${name} joined ${organisation} as ${to}, signed in as ${before}`;
    if (how === 'new_password') {
      if (this.proven.has(to)) this.wrong = `${name} set a password of ${to}, which belongs to its owner`;
      if (mailed) this.proved(name, to);
      else if ([...this.members.keys()].some((key) => key.endsWith(` ${to}`)))
        this.wrong = `${name} took the account ${to}, which was in use`;
    }
    this.join(name, invitation);
  }

  private join(name: Name, invitation: Invited): void {
    const { organisation, to, role } = invitation;
    if (!invitation.open) this.wrong = `${name} joined ${organisation} by an invitation that had ended`;
    invitation.open = false;
    const key = this.key(organisation, to);
    const member = this.members.get(key) ?? { role, people: new Set() };
    this.members.set(key, { ...member, people: new Set([...member.people, name]) });
  }

  /** The owner of an address has proved it: nobody else keeps anything that the account has. */
  proved(name: Name, address: string): void {
    this.proven.add(address);
    for (const [key, member] of this.members)
      if (key.endsWith(` ${address}`)) member.people = new Set([...member.people].filter((one) => one === name));
  }

  reset(name: Name, address: string): void {
    if (this.owner(address) !== name) this.wrong = `${name} reset the password of ${address}`;
    this.proved(name, address);
  }

  /** A button of the page of organisations. */
  chose(name: Name, address: string, action: string, value: string): void {
    if (action === 'switch') return;
    if (action === 'leave') return this.left(value, address);
    if (action === 'confirm') return void this.members.get(this.key(value, address))?.people.add(name);
    const invitation = this.invitations.findLast(({ organisation, to }) => value === `${organisation}/${to}`)!;
    if (this.owner(address) !== name || invitation.to !== address) this.wrong = `${name} chose an invitation of another address`;
    if (action === 'join') this.join(name, invitation);
    else invitation.open = false;
  }

  /** A member left or was removed: what the member invited ends, and so do invitations of the member. */
  left(organisation: string, address: string): void {
    this.members.delete(this.key(organisation, address));
    for (const one of this.invitations)
      if (one.organisation === organisation && (one.by === address || one.to === address)) one.open = false;
  }

  role(organisation: string, address: string, role: string): void {
    const member = this.members.get(this.key(organisation, address));
    if (member === undefined) return;
    member.role = role;
    if (role !== 'owner') for (const one of this.invitations) if (one.organisation === organisation && one.by === address) one.open = false;
  }

  deleted(address: string): void {
    for (const key of [...this.members.keys()]) if (key.endsWith(` ${address}`)) this.left(key.split(' ')[0]!, address);
    this.proven.delete(address);
  }

  /** What is wrong with what a person reaches; null if nothing is. */
  problem(name: Name, signedInAs: string | null, organisations: readonly string[]): string | null {
    if (this.wrong !== null) return this.wrong;
    if (signedInAs === null) return null;
    if (this.proven.has(signedInAs) && this.owner(signedInAs) !== name)
      return `${name} is signed in as ${signedInAs}, whose owner proved it`;
    const beyond = organisations.find((one) => this.members.get(this.key(one, signedInAs))?.people.has(name) !== true);
    return beyond === undefined ? null : `${name} reaches ${beyond} as ${signedInAs}`;
  }
}
