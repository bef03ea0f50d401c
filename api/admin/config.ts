/** What `curbcut-admin` reads of its environment. */
import { Type, secret } from '../../platform/configuration.ts';

export const Environment = Type.Object({
  MONGODB_URL: Type.String({ pattern: '^mongodb(\\+srv)?://', description: 'a mongodb:// or mongodb+srv:// address', ...secret }),
});
