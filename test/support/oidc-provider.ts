/** An OpenID Connect provider on loopback, whose users sign in without being asked. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

export interface TestProvider {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Who signs in next, as the UserInfo endpoint says it. */
  person: { sub: string; email?: unknown; email_verified?: unknown; [claim: string]: unknown };
  /** What the ID token says besides. */
  idToken: Readonly<Record<string, unknown>>;
  /** Requests for UserInfo. */
  asked: number;
  /** Seconds since their sign-in here, which ID tokens state. */
  age: number;
  /** Opens the address of a sign-in as a browser would, and returns the address to which the provider sends it back. */
  signIn(url: string): Promise<string>;
  close(): Promise<void>;
}

/** Claims that are given with the scope openid, because providers do not agree on others. */
const CLAIMS = 'sub email email_verified name preferred_username oid tid hd groups roles realm_access cognito:groups'.split(' ');

const BOTH: ('client_secret_basic' | 'client_secret_post')[] = ['client_secret_basic', 'client_secret_post'];

interface ProviderOptions {
  /** How the client sends its secret; it is refused in another way. Default: the two that browsers' clients use. */
  method?: 'client_secret_basic' | 'client_secret_post';
  /** Whether the metadata name the methods, or also one that is refused. Default: true. */
  named?: boolean | 'both';
}

/** @param redirectUri the address of the client to return to */
export async function startProvider(redirectUri: string, { method, named = true }: ProviderOptions = {}): Promise<TestProvider> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clientId = 'curbcut';
  const clientSecret = 'the-secret-of-the-client';
  const self: TestProvider = {
    issuer,
    clientId,
    clientSecret,
    person: { sub: '', email: '', email_verified: true },
    idToken: {},
    asked: 0,
    age: 0,
    signIn,
    close,
  };
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        response_types: ['code'],
        require_auth_time: true,
        ...(method && { token_endpoint_auth_method: method }),
      },
    ],
    pkce: { required: () => true },
    claims: { openid: CLAIMS, email: [], profile: [] },
    conformIdTokenClaims: false,
    clientAuthMethods: method === undefined ? BOTH : [method],
    discovery: named === true ? {} : { token_endpoint_auth_methods_supported: named === 'both' ? BOTH : undefined },
    cookies: { keys: ['test'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_context, id) => {
      const { person, idToken } = self;
      return { accountId: id, claims: (use) => Promise.resolve({ ...(use === 'id_token' ? idToken : person), sub: id }) };
    },
  });
  server.on('request', (request, response) => {
    const { authorization } = request.headers;
    if (request.url === '/me') self.asked += 1;
    // The library takes the secret of a client in either way.
    if (request.url === '/token' && method !== undefined && (authorization !== undefined) !== (method === 'client_secret_basic'))
      return void response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"invalid_client"}');
    if (request.url?.startsWith('/interaction/') !== true) return void provider.callback()(request, response);
    void (async () => {
      const { prompt, params, session } = await provider.interactionDetails(request, response);
      if (prompt.name === 'login')
        return provider.interactionFinished(request, response, {
          login: { accountId: self.person.sub, ts: Math.floor(Date.now() / 1000) - self.age },
        });
      const grant = new provider.Grant({ accountId: session!.accountId, clientId: params['client_id'] as string });
      grant.addOIDCScope(params['scope'] as string);
      return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
    })();
  });

  async function signIn(url: string): Promise<string> {
    const cookies = new Map<string, string>();
    for (let next = url; ;) {
      if (next.startsWith(redirectUri)) return next;
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(next, { redirect: 'manual', headers: { cookie } });
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      const location = response.headers.get('location');
      if (location === null) throw new Error(`the provider answered ${response.status}: ${await response.text()}`);
      next = new URL(location, issuer).href;
    }
  }

  async function close(): Promise<void> {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  return self;
}
