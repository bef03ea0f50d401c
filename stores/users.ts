/** People who may sign in for an organisation: e-mail and scrypt hash. */

export interface User {
  email: string;
  organisation: string;
  createdAt: Date;
}

export interface Users {
  /** @throws AlreadyExists where the address has an account */
  add(user: { email: string; organisation: string; password: string }): Promise<User>;
  /** @returns the user if the password is right, else null; takes the same time for an unknown address */
  verify(email: string, password: string): Promise<User | null>;
  resetPassword(email: string, password: string): Promise<boolean>;
  remove(email: string): Promise<User | null>;
  list(organisation: string): Promise<User[]>;
}
