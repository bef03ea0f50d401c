/** Invitations to join an organisation: a link that works once. */
import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import type { Role } from '../../core/accounts.ts';
import { newToken, tokenHash } from './one-time-token.ts';
import { userIdOf } from './user-document.ts';

export const INVITATION_HOURS = 72;
/** Pending invitations of one organisation. */
export const INVITATIONS_MAX = 100;

export interface Invitation {
  id: string;
  organisation: string;
  /** In its stored form. */
  email: string;
  role: Role;
  /** The e-mail address of the user who sent it. */
  createdBy: string;
  createdAt: Date;
  expiresAt: Date;
}

export type NewInvitation = { ok: true; invitation: Invitation; token: string } | { ok: false; reason: 'too_many' };

export interface Invitations {
  /** Creates an invitation in place of an earlier one of the same address, whose link stops working. */
  create(request: Pick<Invitation, 'organisation' | 'email' | 'role' | 'createdBy'>): Promise<NewInvitation>;
  /** Returns the pending invitations of an organisation, the newest first. */
  list(organisation: string): Promise<Invitation[]>;
  cancel(organisation: string, id: string): Promise<Invitation | null>;
  /** Returns the pending invitation of a link. */
  find(token: string): Promise<Invitation | null>;
  /** Returns the pending invitations of an address, the newest first. Several organisations may have invited it. */
  findByEmail(email: string): Promise<Invitation[]>;
  /** Takes an invitation, so that nobody else can use it. @returns null if it was used or canceled, or has expired */
  take(id: string): Promise<Invitation | null>;
  /** Gives back an invitation that was taken but not used. */
  restore(id: string): Promise<void>;
}

/** `takenAt` is present once the invitation is used. */
type InvitationDocument = Omit<Invitation, 'id'> & { _id: string; hash: string; takenAt?: Date };

const toInvitation = ({ _id, organisation, email, role, createdBy, createdAt, expiresAt }: InvitationDocument): Invitation => ({
  id: _id,
  organisation,
  email,
  role,
  createdBy,
  createdAt,
  expiresAt,
});

/** Invitations in MongoDB. */
export function createInvitations(db: Db, { now = () => new Date() }: { now?: () => Date } = {}): Invitations {
  const invitations = db.collection<InvitationDocument>('invitations');
  const pending = () => ({ expiresAt: { $gt: now() }, takenAt: { $exists: false } });
  const newestFirst = { createdAt: -1, _id: -1 } as const;

  return {
    async create({ organisation, email, role, createdBy }) {
      const address = userIdOf(email);
      const others = { organisation, email: { $ne: address }, ...pending() };
      if ((await invitations.countDocuments(others, { limit: INVITATIONS_MAX })) >= INVITATIONS_MAX)
        return { ok: false, reason: 'too_many' };
      const token = newToken();
      const createdAt = now();
      const document: InvitationDocument = {
        _id: randomUUID(),
        organisation,
        email: address,
        role,
        createdBy,
        createdAt,
        expiresAt: new Date(createdAt.getTime() + INVITATION_HOURS * 3_600_000),
        hash: tokenHash(token)!,
      };
      await invitations.insertOne(document);
      await invitations.deleteMany({ organisation, email: address, _id: { $ne: document._id } });
      return { ok: true, invitation: toInvitation(document), token };
    },

    async list(organisation) {
      const found = invitations
        .find({ organisation, ...pending() })
        .sort(newestFirst)
        .limit(INVITATIONS_MAX);
      return (await found.toArray()).map(toInvitation);
    },

    async cancel(organisation, id) {
      const document = await invitations.findOneAndDelete({ _id: id, organisation, ...pending() });
      return document && toInvitation(document);
    },

    async find(token) {
      const hash = tokenHash(token);
      const document = hash === null ? null : await invitations.findOne({ hash, ...pending() });
      return document && toInvitation(document);
    },

    async findByEmail(email) {
      const found = invitations
        .find({ email: userIdOf(email), ...pending() })
        .sort(newestFirst)
        .limit(INVITATIONS_MAX);
      return (await found.toArray()).map(toInvitation);
    },

    async take(id) {
      const document = await invitations.findOneAndUpdate({ _id: id, ...pending() }, { $set: { takenAt: now() } });
      return document && toInvitation(document);
    },

    async restore(id) {
      await invitations.updateOne({ _id: id }, { $unset: { takenAt: '' } });
    },
  };
}
