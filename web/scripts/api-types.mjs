// SPDX-License-Identifier: MIT
// Writes src/api/schema.d.ts, and src/api/limits.ts with what fields may hold, from the pieces of the server's OpenAPI document, put together as the server does it.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import openapiTS, { astToString } from 'openapi-typescript'

const pieces = new URL('../../src/http/v1/openapi/', import.meta.url)
const read = (name) => JSON.parse(readFileSync(new URL(name, pieces), 'utf8'))
const head = read('head.json')
const document = {
  openapi: '3.1.0',
  info: { version: '1', title: 'api/v1' },
  paths: {},
  components: { ...head.components, schemas: { ...head.schemas } },
}
for (const name of readdirSync(pieces).sort()) {
  if (name === 'head.json' || !name.endsWith('.json')) continue
  const piece = read(name)
  Object.assign(document.paths, piece.paths)
  Object.assign(document.components.schemas, piece.schemas)
}
const text = astToString(await openapiTS(document))
writeFileSync(new URL('../src/api/schema.d.ts', import.meta.url), `// Made by scripts/api-types.mjs.\n${text}`)

function resolve(property) {
  return property.$ref ? document.components.schemas[property.$ref.split('/').pop()] : property
}

/** What a field may hold, for hints at the field; the server has the last word. */
function limitsOf(schema) {
  const limits = {}
  for (const [name, property] of Object.entries(schema.properties)) {
    if (name === 'settings') continue // has limits of its own
    const { maxLength, minLength, minimum, maximum, enum: choices } = resolve(property)
    const own = { maxLength, minLength, minimum, maximum, choices: choices?.filter((one) => one !== null) }
    limits[name] = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined))
  }
  return limits
}
const schemas = document.components.schemas
const save = document.paths['/api/v1/jobs/{jobId}/glue'].post.requestBody.content['application/json'].schema
const channel = document.paths['/api/v1/alarms/channels'].post.requestBody.content['application/json'].schema
const all = {
  job: { ...limitsOf(schemas.JobChange), ...limitsOf(schemas.JobSettings) },
  glue: limitsOf(save),
  channel: limitsOf(channel),
}
writeFileSync(
  new URL('../src/api/limits.ts', import.meta.url),
  `// Made by scripts/api-types.mjs.\nexport const LIMITS = ${JSON.stringify(all, null, 2)} as const\n`,
)
