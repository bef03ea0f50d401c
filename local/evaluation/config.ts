/** The configuration of the evaluation. */
import { Type } from '../../platform/configuration.ts';

const name = (description: string) => Type.String({ pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$', description });
const port = (fallback: number, what: string) =>
  Type.Integer({ minimum: 1, maximum: 65535, default: fallback, description: `a port for ${what}, from 1 to 65535` });

export const Environment = Type.Object({
  HOST: Type.String({ default: '0.0.0.0', description: 'an address to listen on' }),
  DATA_DIR: Type.String({ minLength: 1, default: '/data', description: 'the path of a folder that may be written to' }),
  POD_NAMESPACE: name('the namespace of the Secret'),
  EVALUATION_SECRET: name('the name of a Secret that exists and that this process may read and patch'),
  CURBCUT_NAMESPACE: name('the namespace whose scans are charged to the demo organisation'),
  KUBECONFIG: Type.Optional(
    Type.String({ minLength: 1, description: "the path of a kubeconfig; absent, the pod's service account is used" }),
  ),
  DOCUMENTS_PORT: port(27017, 'documents'),
  MESSAGES_PORT: port(4222, 'messages'),
  OBJECTS_PORT: port(9000, 'objects'),
  DEMO_PORT: port(8081, 'the demo site'),
  SMTP_PORT: port(2525, 'mails'),
  INBOX_PORT: port(8025, "the mail catcher's inbox"),
  PROBE_PORT: port(8082, 'probes'),
});
