/** Invitations to join an organisation: a link that works once. */
import { randomUUID } from 'node:crypto';
import type { Db, Filter } from 'mongodb';
import type { Role } from '../../core/accounts.ts';
import { deleteEach } from '../mongo-retry.ts';
import { newToken, replaceLink, tokenHash } from './one-time-links.ts';
import { userIdOf } from './user-document.ts';

export const INVITATION_HOURS = 72;
/** Pending invitations of one organisation. */
export const INVITATIONS_MAX = 100;
/** How long an invitation is reserved for a request that accepts it. Longer than a request may take. */
const CLAIM_MS = 60_000;

export interface Invitation {
  id: string;
  organisation: string;
  /** In its stored form. */
  email: string;
  role: Role;
  /** The e-mail address of the owner who sent it. It ends when this user is no longer an owner. */
  createdBy: string;
  createdAt: Date;
  expiresAt: Date;
  /** Whether the link was sent by mail and shown to nobody: opening it proves that the address belongs to the person. */
  mailed: boolean;
}

export type NewInvitation =
  /** `linkId` is unique to the link. */
  | { ok: true; invitation: Invitation; token: string; linkId: string }
  /** `just_invited`: a simultaneous request invited the address, and its link is the one that works. */
  | { ok: false; reason: 'too_many' | 'just_invited' };

/** An invitation that one request may accept. */
export interface ClaimedInvitation {
  invitation: Invitation;
  holder: string;
}

/** The ID names organisation and address. */
type InvitationDocument = Omit<Invitation, 'id'> & {
  _id: string;
  hash: string;
  holder?: string;
  claimedUntil?: Date;
};

const toInvitation = (document: InvitationDocument): Invitation => {
  const { _id: id, organisation, email, role, createdBy, createdAt, expiresAt, mailed } = document;
  return { id, organisation, email, role, createdBy, createdAt, expiresAt, mailed };
};

export function createInvitations(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const invitations = db.collection<InvitationDocument>('invitations');
  const unclaimed = (): Filter<InvitationDocument> => ({
    $or: [{ claimedUntil: { $exists: false } }, { claimedUntil: { $lte: now() } }],
  });
  const pending = (): Filter<InvitationDocument> => ({ expiresAt: { $gt: now() }, ...unclaimed() });
  const newestFirst = { createdAt: -1, _id: -1 } as const;

  return {
    /** Creates an invitation in place of an earlier one of the same address, whose link stops working. */
    async create({
      organisation,
      email,
      role,
      createdBy,
      mailed,
    }: Pick<Invitation, 'organisation' | 'email' | 'role' | 'createdBy' | 'mailed'>): Promise<NewInvitation> {
      const address = userIdOf(email);
      const others = { organisation, email: { $ne: address }, ...pending() };
      if ((await invitations.countDocuments(others, { limit: INVITATIONS_MAX })) >= INVITATIONS_MAX)
        return { ok: false, reason: 'too_many' };
      const token = newToken();
      const hash = tokenHash(token)!;
      const createdAt = now();
      const document: InvitationDocument = {
        _id: `${organisation}/${address}`,
        organisation,
        email: address,
        role,
        createdBy,
        createdAt,
        expiresAt: new Date(createdAt.getTime() + INVITATION_HOURS * 3_600_000),
        mailed,
        hash,
      };
      const earlier = await invitations.findOne({ _id: document._id });
      if (!(await replaceLink(invitations, document, earlier, unclaimed()))) return { ok: false, reason: 'just_invited' };
      return { ok: true, invitation: toInvitation(document), token, linkId: hash };
    },

    /** Returns the pending invitations of an organisation, the newest first. */
    async list(organisation: string): Promise<Invitation[]> {
      const found = invitations
        .find({ organisation, ...pending() })
        .sort(newestFirst)
        .limit(INVITATIONS_MAX);
      return (await found.toArray()).map(toInvitation);
    },

    async cancel(organisation: string, id: string): Promise<Invitation | null> {
      const document = await invitations.findOneAndDelete({ _id: id, organisation, ...pending() });
      return document && toInvitation(document);
    },

    /** Cancels all of an organisation, also one that a request is accepting. @returns them */
    async cancelAll(organisation: string): Promise<Invitation[]> {
      const found = await invitations.find({ organisation }).toArray();
      await deleteEach(invitations, { organisation });
      return found.map(toInvitation);
    },

    /** Cancels what a user invited to an organisation. */
    cancelBy: (organisation: string, createdBy: string) => deleteEach(invitations, { organisation, createdBy }),

    /** Cancels what an address was invited to in an organisation. */
    cancelFor: (organisation: string, email: string) => deleteEach(invitations, { organisation, email }),

    /** Cancels the invitation of an address. @returns null if there is none */
    async decline(email: string, id: string): Promise<Invitation | null> {
      const document = await invitations.findOneAndDelete({ _id: id, email, ...pending() });
      return document && toInvitation(document);
    },

    /** Returns the pending invitation of a link. */
    async find(token: string): Promise<Invitation | null> {
      const hash = tokenHash(token);
      const document = hash === null ? null : await invitations.findOne({ hash, ...pending() });
      return document && toInvitation(document);
    },

    /** Returns the pending invitations of an address, the newest first. Several organisations may have invited it. */
    async findByEmail(email: string): Promise<Invitation[]> {
      const found = invitations
        .find({ email: userIdOf(email), ...pending() })
        .sort(newestFirst)
        .limit(INVITATIONS_MAX);
      return (await found.toArray()).map(toInvitation);
    },

    /**
     * Reserves an invitation of an address for this request.
     * @returns null if there is none, if it was used or canceled, has expired, or another request has it
     */
    async claim(email: string, id: string): Promise<ClaimedInvitation | null> {
      const holder = randomUUID();
      const claimedUntil = new Date(now().getTime() + CLAIM_MS);
      const document = await invitations.findOneAndUpdate({ _id: id, email, ...pending() }, { $set: { holder, claimedUntil } });
      return document && { invitation: toInvitation(document), holder };
    },

    /** Gives back an invitation that was claimed but not used. */
    async release({ invitation: { id }, holder }: ClaimedInvitation) {
      await invitations.updateOne({ _id: id, holder }, { $unset: { holder: '', claimedUntil: '' } });
    },

    async finish({ invitation: { id }, holder }: ClaimedInvitation) {
      await invitations.deleteOne({ _id: id, holder });
    },
  };
}
export type Invitations = ReturnType<typeof createInvitations>;
