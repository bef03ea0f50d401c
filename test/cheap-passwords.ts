/** Loaded before all tests: a new hash of a password takes a quarter of a second of a processor, and tests make a thousand. */
import { PASSWORD_COST } from '../stores/accounts/passwords.ts';

Object.assign(PASSWORD_COST, { N: 2 ** 10, r: 8, p: 1 });
