// An OpenID Connect provider for tests that also implements GitHub's device flow. Users pick
// their account without a password.
//   node test/provider.mjs FILE   serves until it is stopped; writes a server configuration to FILE
import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const codes = new Map(); // authorization requests by code
const tokens = new Map(); // user names by access token
let device = { code: '', user: '', name: '' };
const id = () => randomBytes(16).toString('hex');
const part = (o) => Buffer.from(JSON.stringify(o)).toString('base64url');
let at = '';

function signed(claims) {
  const head = `${part({ alg: 'RS256', kid: '1' })}.${part(claims)}`;
  return `${head}.${createSign('RSA-SHA256').update(head).sign(privateKey).toString('base64url')}`;
}

function claimsOf(name) {
  return {
    sub: name,
    email: `${name}@example.com`,
    email_verified: true,
    preferred_username: name,
    name: `The ${name}`,
  };
}

const routes = {
  'GET /.well-known/openid-configuration': () => ({
    issuer: at,
    authorization_endpoint: `${at}/authorize`,
    token_endpoint: `${at}/token`,
    jwks_uri: `${at}/keys`,
    userinfo_endpoint: `${at}/userinfo`,
    id_token_signing_alg_values_supported: ['RS256'],
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
  }),
  'GET /keys': () => ({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1', alg: 'RS256', use: 'sig' }] }),
  'GET /authorize': (q) =>
    `<h1>Who are you?</h1>${['member', 'zoe'].map((who) => `<a href="/chosen?who=${who}&${q}">${who}</a> `).join('')}`,
  'GET /chosen': (q) => {
    const code = id();
    codes.set(code, {
      who: q.get('who'),
      nonce: q.get('nonce'),
      client: q.get('client_id'),
      challenge: q.get('code_challenge'),
    });
    return { redirect: `${q.get('redirect_uri')}?${new URLSearchParams({ code, state: q.get('state'), iss: at })}` };
  },
  'POST /token': (q) => {
    const login = codes.get(q.get('code'));
    codes.delete(q.get('code'));
    if (
      !login ||
      createHash('sha256')
        .update(q.get('code_verifier') ?? '')
        .digest('base64url') !== login.challenge
    )
      return { status: 400, body: { error: 'invalid_grant' } };
    const now = Math.floor(Date.now() / 1000);
    const access = id();
    tokens.set(access, login.who);
    return {
      access_token: access,
      token_type: 'Bearer',
      expires_in: 3600,
      id_token: signed({
        iss: at,
        aud: login.client,
        iat: now,
        exp: now + 300,
        nonce: login.nonce,
        ...claimsOf(login.who),
      }),
    };
  },
  'GET /userinfo': (_, who) => claimsOf(who),
  'POST /login/device/code': () => {
    device = { code: id(), user: 'ABCD-1234', name: '' };
    return {
      device_code: device.code,
      user_code: device.user,
      verification_uri: `${at}/login/device`,
      expires_in: 900,
      interval: 1,
    };
  },
  'GET /login/device': () => '<form method=post><label>Code <input name=code></label><button>Continue</button></form>',
  'POST /login/device': (q) => {
    if (q.get('code') !== device.user) return '<h1>That is not the code</h1>';
    device.name = 'octo';
    return '<h1>Your device is connected</h1>';
  },
  'POST /login/oauth/access_token': (q) => {
    if (q.get('device_code') !== device.code || device.name === '') return { error: 'authorization_pending' };
    const access = id();
    tokens.set(access, device.name);
    return { access_token: access, token_type: 'bearer' };
  },
  'GET /api/v3/user': (_, who) => ({ id: 7, login: who, name: `The ${who}`, avatar_url: '' }),
  'GET /api/v3/user/emails': (_, who) => [{ email: `${who}@example.com`, primary: true, verified: true }],
};

const server = createServer(async (request, response) => {
  const url = new URL(request.url, at);
  let body = '';
  for await (const chunk of request) body += chunk;
  const route = routes[`${request.method} ${url.pathname}`];
  const answer = route?.(
    request.method === 'GET' ? url.searchParams : new URLSearchParams(body),
    tokens.get(request.headers.authorization?.split(' ')[1]),
  ) ?? { status: 404, body: {} };
  if (answer.redirect) response.writeHead(302, { Location: answer.redirect }).end();
  else if (typeof answer === 'string')
    response.writeHead(200, { 'Content-Type': 'text/html' }).end(`<!doctype html><title>Provider</title>${answer}`);
  else
    response
      .writeHead(answer.status ?? 200, { 'Content-Type': 'application/json' })
      .end(JSON.stringify(answer.body ?? answer));
});

server.listen(0, '127.0.0.1', () => {
  at = `http://127.0.0.1:${server.address().port}`;
  writeFileSync(
    process.argv[2],
    `oidc:
  issuerURL: ${at}
  clientID: coder-test
  signInText: Example Corp
  allowSignups: true
oauth2:
  github:
    clientID: coder-test
    deviceFlow: true
    allowSignups: true
    allowEveryone: true
    enterpriseBaseURL: ${at}
`,
  );
});
