// SPDX-License-Identifier: MIT
// An OpenID provider (certified: oidc-provider) with one client, whose people stand in a file that is read at each
// question. Usage: node provider.mjs OPTIONS.json
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import Provider from 'oidc-provider'

const options = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const people = () => JSON.parse(readFileSync(options.people, 'utf8'))

const provider = new Provider(options.issuer, {
  clients: [
    {
      client_id: 'shardwheel',
      client_secret: options.secret,
      redirect_uris: options.redirects,
      post_logout_redirect_uris: options.afterLogout,
      token_endpoint_auth_method: options.method ?? 'client_secret_basic',
      id_token_signed_response_alg: options.algorithm ?? 'RS256',
    },
  ],
  jwks: { keys: options.keys },
  claims: { openid: ['sub'], profile: ['preferred_username', 'name'], email: ['email'], groups: ['groups'] },
  conformIdTokenClaims: !options.inToken, // true: what scopes ask for is told by the userinfo page alone
  cookies: { keys: ['test'] },
  pkce: { required: () => true },
  features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  findAccount: (_, id) => {
    const person = people()[id]
    return person && { accountId: id, claims: () => ({ sub: person.sub ?? id, preferred_username: id, ...person }) }
  },
})
provider.on('server_error', (_, error) => console.error(error))
const ready = () => console.log('ready')
if (options.tls) {
  const pem = readFileSync(options.tls)
  createServer({ cert: pem, key: pem }, provider.callback()).listen(options.port, '127.0.0.1', ready)
} else provider.listen(options.port, '127.0.0.1', ready)
